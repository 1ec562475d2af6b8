-- verify/balance: whether two lists hold the same rows equally often
-- reads   __rows__      one row for each that there is: __key__
--         __counted__   rows with how often they are said to occur: __key__, records, at least 1
-- gives   rows; how many of them are not counted, and how many are counted and are not there  one row
SELECT
  coalesce(sum(there), 0) AS "rows",
  coalesce(sum(greatest(0, there - told)), 0) AS uncounted,
  coalesce(sum(greatest(0, told - there)), 0) AS absent
FROM (
  SELECT sum(there) AS there, sum(told) AS told
  FROM (
    SELECT __key__, 1 AS there, 0 AS told
    FROM __rows__
    UNION ALL
    SELECT __key__, 0, records
    FROM __counted__
  )
  GROUP BY __key__
)
