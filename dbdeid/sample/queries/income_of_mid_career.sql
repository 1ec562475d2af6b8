SELECT income, COUNT(*) AS n
FROM adult
WHERE age BETWEEN 30 AND 49 AND workclass = 'Private'
GROUP BY income
