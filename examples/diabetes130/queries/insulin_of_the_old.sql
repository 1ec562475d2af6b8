SELECT insulin, COUNT(*) AS encounters
FROM diabetes130
WHERE age IN ('[80-90)', '[90-100)')
GROUP BY insulin;
