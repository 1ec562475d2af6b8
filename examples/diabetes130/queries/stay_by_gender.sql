SELECT gender, AVG(time_in_hospital) AS days
FROM diabetes130
GROUP BY gender;
