-- query/avg: the mean of each group; its bounds are those of the extreme subsets of the records that
--            may be missing: the smallest mean takes all of them up to some value, and no others
-- reads   __items__   as query_items gives them
-- gives   __key__, estimate, lower, upper
SELECT
  __key__,
  CASE WHEN estimate IS NOT NULL THEN LEAST(GREATEST(estimate, lower), upper) END AS estimate,
  lower,
  upper
FROM (
  SELECT
    __key__,
    CASE WHEN SUM(records * mass) > 0 THEN SUM(records * total) / SUM(records * mass) END AS estimate,
    MIN((certain_low + taken_low) / (certain_records + taken_up)) AS lower,
    MAX((certain_high + taken_high) / (certain_records + taken_down)) AS upper
  FROM (
    SELECT
      __key__,
      records,
      mass,
      total,
      SUM(CASE WHEN certain THEN records ELSE 0 END) OVER (PARTITION BY __key__) AS certain_records,
      SUM(CASE WHEN certain THEN records * low ELSE 0 END) OVER (PARTITION BY __key__) AS certain_low,
      SUM(CASE WHEN certain THEN records * high ELSE 0 END) OVER (PARTITION BY __key__) AS certain_high,
      SUM(CASE WHEN certain THEN 0 ELSE records END) OVER upwards AS taken_up,
      SUM(CASE WHEN certain THEN 0 ELSE records * low END) OVER upwards AS taken_low,
      SUM(CASE WHEN certain THEN 0 ELSE records END) OVER downwards AS taken_down,
      SUM(CASE WHEN certain THEN 0 ELSE records * high END) OVER downwards AS taken_high
    FROM __items__
    WINDOW
      upwards AS (PARTITION BY __key__ ORDER BY low RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
      downwards AS (PARTITION BY __key__ ORDER BY high DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
  ) AS taken
  GROUP BY __key__
) AS averaged
