-- query/obstacles: what keeps a query from using the values of one generalized column
-- reads   __dictionary__   the dictionary of the release; $column is the column's name
-- gives   unknown     released values without leaves and without bounds
--         half_open   released values with one bound but without leaves
--         bounded     released values with two bounds but without leaves
--         ambiguous   rows beyond the first of a released value
SELECT
  COUNT(*) FILTER (WHERE level > 0 AND COALESCE(LEN(leaves), 0) = 0 AND lower IS NULL AND upper IS NULL) AS unknown,
  COUNT(*) FILTER (WHERE level > 0 AND COALESCE(LEN(leaves), 0) = 0 AND (lower IS NULL) <> (upper IS NULL)) AS half_open,
  COUNT(*) FILTER (WHERE level > 0 AND COALESCE(LEN(leaves), 0) = 0 AND lower IS NOT NULL AND upper IS NOT NULL) AS bounded,
  COUNT(*) - COUNT(DISTINCT released_value) AS ambiguous
FROM __dictionary__
WHERE "column" = $column
  AND released_value IS NOT NULL
