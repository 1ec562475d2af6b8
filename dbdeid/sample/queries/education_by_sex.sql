SELECT education, sex, COUNT(*) AS n
FROM adult
GROUP BY education, sex
