SELECT age, COUNT(*) AS n
FROM adult
WHERE occupation = 'Sales'
GROUP BY age
