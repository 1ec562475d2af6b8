SELECT marital_status, COUNT(*) AS n
FROM adult
WHERE age < 30
GROUP BY marital_status
