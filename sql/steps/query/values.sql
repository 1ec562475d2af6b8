-- query/values: what every released value of one generalized column stands for; NULL always has a row
-- reads   __dictionary__   the dictionary of the release; $column is the column's name
-- gives   value, level, lower, upper, leaves, meanings   one row per value; meanings > 1 when the
--         dictionary has several rows for it
SELECT
  released_value AS value,
  level,
  lower,
  upper,
  leaves,
  COUNT(*) OVER (PARTITION BY released_value) AS meanings
FROM __dictionary__
WHERE "column" = $column
  AND released_value IS NOT NULL
UNION ALL
SELECT
  NULL AS value,
  NULL AS level,
  NULL AS lower,
  NULL AS upper,
  NULL AS leaves,
  1 AS meanings
