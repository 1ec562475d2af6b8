-- How many come back within thirty days, at what age?
SELECT age, COUNT(*) AS encounters
FROM diabetes130
WHERE readmitted = '<30'
GROUP BY age;
