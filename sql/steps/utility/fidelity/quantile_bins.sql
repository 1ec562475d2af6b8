-- utility/fidelity/quantile_bins: where bins of a column begin that hold about as many records each
-- reads   __rel__   one row per record: value, a number; NULL is left out
--         $bins     most bins; a value that many records share has one of its own
-- gives   start: the least value of each bin, sorted
WITH counted AS (
  SELECT value, count(*) AS records
  FROM __rel__
  WHERE value IS NOT NULL
  GROUP BY value
), ranked AS (
  SELECT
    value,
    records,
    sum(records) OVER (ORDER BY value) AS upto,
    sum(records) OVER () AS total
  FROM counted
)
SELECT min(value) AS start
FROM (
  -- by the share of records below a value and half of its own: a bin is a tenth of all, or less
  SELECT value, (2 * upto - records) * $bins // (2 * total) AS bin FROM ranked
) AS binned
GROUP BY bin
ORDER BY start
