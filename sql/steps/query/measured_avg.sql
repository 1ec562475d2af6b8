-- query/measured_avg: the mean of each group, where all its records count for certain and are summed up; its
--                     bounds are as far apart as computing it in any order may round it
-- reads   __items__   __key__, records, mass, plus, minus, rough as query_measured_sum reads them
-- gives   __key__, estimate, lower, upper
SELECT
  __key__,
  CASE WHEN there THEN mean END AS estimate,
  mean - away AS lower,
  mean + away AS upper
FROM (
  SELECT
    __key__,
    there,
    total / many AS mean,
    CASE
      WHEN rough = 1 OR (rough = 0 AND size > 1e12) THEN (many + 8) * size * 2.3e-16 / many
      WHEN rough IS NULL THEN ABS(total / many) * 1e-15
      ELSE 0
    END AS away
  FROM (
    SELECT
      __key__,
      SUM(mass) > 0 AS there,
      MAX(rough) AS rough,
      CAST(SUM(plus + minus) AS DOUBLE) AS total,
      CAST(SUM(plus - minus) AS DOUBLE) AS size,
      SUM(records) AS many
    FROM __items__
    GROUP BY __key__
  ) AS added
) AS averaged
