-- utility/fidelity/moments: how a column of numbers lies before and after
-- reads   __source__    one row per record: value, a number
--         __released__  one row per released record: value, a number
-- gives   of each: mean, sum, median; of the source alone its deviation and sum of magnitudes
-- each value is taken once, as often as it is there, and added in order, so that a sum is the same
-- in every run
WITH source AS (
  SELECT
    sorted,
    list_sum(list_transform(sorted, lambda each: each.records)) AS records,
    list_sum(list_transform(sorted, lambda each: each.records * each.value)) AS total
  FROM (
    SELECT list(counted ORDER BY counted.value) AS sorted
    FROM (
      SELECT value, count(*) AS records FROM __source__ AS source WHERE value IS NOT NULL GROUP BY value
    ) AS counted
  ) AS listed
), released AS (
  SELECT
    list_sum(list_transform(sorted, lambda each: each.records)) AS records,
    list_sum(list_transform(sorted, lambda each: each.records * each.value)) AS total
  FROM (
    SELECT list(counted ORDER BY counted.value) AS sorted
    FROM (
      SELECT value, count(*) AS records
      FROM __released__ AS released
      WHERE value IS NOT NULL
      GROUP BY value
    ) AS counted
  ) AS listed
), middle AS (
  SELECT
    (SELECT median(value) FROM __source__ AS source) AS source,
    (SELECT median(value) FROM __released__ AS released) AS released
)
SELECT
  source.total / source.records AS source_mean,
  source.total AS source_sum,
  middle.source AS source_median,
  sqrt(
    list_sum(
      list_transform(
        source.sorted,
        lambda each: each.records * (each.value - source.total / source.records) ** 2
      )
    ) / source.records
  ) AS deviation,
  list_sum(list_transform(source.sorted, lambda each: each.records * abs(each.value))) AS magnitude,
  released.total / released.records AS released_mean,
  released.total AS released_sum,
  middle.released AS released_median
FROM source
CROSS JOIN released
CROSS JOIN middle
