-- name: query_values
-- why     the values of one generalized column that a query meets, with what the dictionary says
-- reads   __rel__          grouped release with the column __value__
--         __dictionary__   the dictionary of the release; $column is the column's name
-- gives   value, level, lower, upper, leaves, meanings   one row per value; all but value NULL
--         when the dictionary lacks it, meanings > 1 when it has several rows for it
SELECT
  v.value,
  d.level,
  d.lower,
  d.upper,
  d.leaves,
  d.meanings
FROM (
  SELECT DISTINCT __value__ AS value
  FROM __rel__
) AS v
LEFT JOIN (
  SELECT
    released_value,
    level,
    lower,
    upper,
    leaves,
    COUNT(*) OVER (PARTITION BY released_value) AS meanings
  FROM __dictionary__
  WHERE "column" = $column
) AS d
  ON d.released_value = v.value
