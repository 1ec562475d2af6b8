-- utility/fidelity/moments: how a column of numbers lies before and after
-- reads   __source__    one row per record: value, a number
--         __released__  one row per released record: value, a number
-- gives   of each: mean, sum, median; of the source alone its deviation and sum of magnitudes
SELECT
  source.*,
  released.*
FROM (
  SELECT
    -- sorted once, and added in that order, so that a sum is the same in every run
    list_avg(sorted) AS source_mean,
    list_sum(sorted) AS source_sum,
    list_median(sorted) AS source_median,
    list_stddev_pop(sorted) AS deviation,
    list_sum(list_transform(sorted, lambda each: abs(each))) AS magnitude
  FROM (SELECT list(value ORDER BY value) FILTER (value IS NOT NULL) AS sorted FROM __source__) AS source
) AS source
CROSS JOIN (
  SELECT
    list_avg(sorted) AS released_mean,
    list_sum(sorted) AS released_sum,
    list_median(sorted) AS released_median
  FROM (SELECT list(value ORDER BY value) FILTER (value IS NOT NULL) AS sorted FROM __released__) AS released
) AS released
