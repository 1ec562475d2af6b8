-- utility/fidelity/moments: how a column of numbers lies before and after
-- reads   __source__    one row per record: value, a number
--         __released__  one row per released record: value, a number
-- gives   of each: mean, sum, median; of the source alone its deviation and sum of magnitudes
SELECT
  source.*,
  released.*
FROM (
  SELECT
    -- added in one order, so that a sum is the same in every run
    avg(value ORDER BY value) AS source_mean,
    sum(value ORDER BY value) AS source_sum,
    median(value) AS source_median,
    stddev_pop(value ORDER BY value) AS deviation,
    sum(abs(value) ORDER BY value) AS magnitude
  FROM __source__
) AS source
CROSS JOIN (
  SELECT
    avg(value ORDER BY value) AS released_mean,
    sum(value ORDER BY value) AS released_sum,
    median(value) AS released_median
  FROM __released__
) AS released
