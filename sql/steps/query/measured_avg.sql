-- query/measured_avg: the mean of each group, where all its records count for certain and are summed up
-- reads   __items__   __key__, records, mass, plus, minus
-- gives   __key__, estimate, lower, upper
SELECT
  __key__,
  CASE WHEN there THEN mean END AS estimate,
  mean AS lower,
  mean AS upper
FROM (
  SELECT __key__, SUM(mass) > 0 AS there, CAST(SUM(plus + minus) AS DOUBLE) / SUM(records) AS mean
  FROM __items__
  GROUP BY __key__
) AS averaged
