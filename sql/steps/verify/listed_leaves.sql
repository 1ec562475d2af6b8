-- verify/listed_leaves: the leaves of the released values as far as the dictionary tells them
-- reads   __dictionary__   "column", released_value, level, leaves
-- gives   name, shown, value                        one row per released value and leaf
-- A value without leaves is one of its own; the value on the top level holds all of its column.
WITH told AS (
  SELECT
    "column" AS name,
    released_value AS shown,
    "level" > 0 AND released_value = '*' AS whole,
    unnest(coalesce(leaves, [released_value])) AS value
  FROM __dictionary__
)
SELECT name, shown, value
FROM told
UNION
SELECT tops.name, tops.shown, told.value
FROM (
  SELECT DISTINCT name, shown
  FROM told
  WHERE whole
) AS tops
JOIN told
  ON told.name = tops.name AND NOT coalesce(told.whole, FALSE)
