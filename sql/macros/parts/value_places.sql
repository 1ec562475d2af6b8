-- value_places: the places of the sensitive values in their order, and the shares up to each
-- reads   tbl, qis, sensitive, subject    as the macros that it is a part of
-- gives   __place (from 1), __upto (the share of the table up to the value), __area (the sum of
--         these), __value    one row per value that somebody has

SELECT
  __place,
  __upto,
  sum(__upto) OVER (ORDER BY __place) AS __area,
  __value
FROM (
  SELECT
    row_number() OVER by_value AS __place,
    sum(__n) OVER by_value / sum(__n) OVER () AS __upto,
    __value
  FROM __all_values__
  WHERE __n > 0
  WINDOW by_value AS (
    ORDER BY __value NULLS LAST
    ROWS UNBOUNDED PRECEDING
  )
)
