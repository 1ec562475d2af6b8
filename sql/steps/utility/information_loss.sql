-- utility/information_loss: what means that replace numbers lose, in percent of all there is
-- reads   __pairs__   name of a column; value, its number in the source; shown, what replaces it;
--                     records, how many have both
-- gives   loss: SSE / SST · 100 of standardized columns                         one row
-- Each column counts alike, as when it has variance 1; those of one value are no part of it. The mean
-- is found from differences: a sum of large numbers would round small ones away.
SELECT 100 * avg(within_groups / around_mean) AS loss
FROM (
  SELECT
    name,
    sum(records * pow(value - shown, 2)) AS within_groups,
    nullif(sum(records * pow(apart - mean, 2)), 0) AS around_mean
  FROM (
    SELECT
      *,
      sum(apart * records) OVER (PARTITION BY name) / sum(records) OVER (PARTITION BY name) AS mean
    FROM (
      SELECT *, value - min(value) OVER (PARTITION BY name) AS apart
      FROM __pairs__
      WHERE value IS NOT NULL
    )
  )
  GROUP BY name
)
