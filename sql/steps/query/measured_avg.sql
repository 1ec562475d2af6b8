-- query/measured_avg: the mean of each group, where all its records count for certain and are summed up
-- reads   __items__   __key__, records, mass, plus, minus
-- gives   __key__, estimate, lower, upper
SELECT
  __key__,
  CASE WHEN SUM(mass) > 0 THEN SUM(mass * (plus + minus)) / SUM(records * mass) END AS estimate,
  SUM(plus + minus) / SUM(records) AS lower,
  SUM(plus + minus) / SUM(records) AS upper
FROM __items__
GROUP BY __key__
