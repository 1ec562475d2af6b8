-- utility/fidelity/exact_hits: how many rows of a release are rows of its source, and how many rows it reproduces
-- reads   __source__    one row per record: __key__, all columns
--         __released__  one row per record: __key__
-- gives   unique_rows: rows of the source that no other equals; reproduced: those of them that a
--         released row equals; equal: released rows that equal a row of the source; equal_unique:
--         one that no other equals; released: all released rows                          one row
SELECT
  count(*) FILTER (WHERE of_source = 1) AS unique_rows,
  count(*) FILTER (WHERE of_source = 1 AND released > 0) AS reproduced,
  coalesce(sum(released) FILTER (WHERE of_source > 0), 0) AS equal,
  coalesce(sum(released) FILTER (WHERE of_source = 1), 0) AS equal_unique,
  coalesce(sum(released), 0) AS released
FROM (
  SELECT sum(of_source) AS of_source, sum(released) AS released
  FROM (
    SELECT __key__, 1 AS of_source, 0 AS released
    FROM __source__
    UNION ALL
    SELECT __key__, 0, 1
    FROM __released__
  )
  GROUP BY __key__
)
