-- verify/contains: which released values of a column lie inside which others
-- reads   __leaves__    name, shown, value: the leaves of each released value
-- gives   name, whole, part                         one row per pair, equal values included
WITH leaves AS (
  SELECT DISTINCT name, shown, value
  FROM __leaves__
),
sizes AS (
  SELECT name, shown, count(*) AS size
  FROM leaves
  GROUP BY name, shown
),
shared AS (
  SELECT outside.name, outside.shown AS whole, inside.shown AS part, count(*) AS size
  FROM leaves AS outside
  JOIN leaves AS inside
    ON inside.name = outside.name AND inside.value IS NOT DISTINCT FROM outside.value
  GROUP BY outside.name, outside.shown, inside.shown
)
SELECT shared.name, shared.whole, shared.part
FROM shared
JOIN sizes
  ON sizes.name = shared.name AND sizes.shown IS NOT DISTINCT FROM shared.part
  AND sizes.size = shared.size
