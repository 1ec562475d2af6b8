-- query/avg: the mean of each group; its bounds are those of the extreme subsets of the records that
--            may be missing: the smallest mean takes all of them up to some value, and no others.
--            Each is beyond what adding up in any order can round it to
-- reads   __items__   as query_rounded_items gives them
-- takes   $rounded: 1 where bounds are moved so far, else 0; $steps: 1 where the mean is computed in several steps,
--         as of DECIMAL, else 0
-- gives   __key__, estimate, lower, upper
SELECT
  __key__,
  CASE WHEN estimate IS NOT NULL THEN LEAST(GREATEST(estimate, lower), upper) END AS estimate,
  lower - ABS(lower) * $steps * 1e-15 AS lower,
  upper + ABS(upper) * $steps * 1e-15 AS upper
FROM (
  SELECT
    __key__,
    CASE WHEN SUM(records * mass) > 0 THEN SUM(records * total) / SUM(records * mass) END AS estimate,
    MIN(
      (certain_low + taken_low - CASE WHEN rounds_below THEN below * (number_up + 8) * 2.3e-16 ELSE 0 END) / number_up
    ) AS lower,
    MAX(
      (certain_high + taken_high + CASE WHEN rounds_above THEN above * (number_down + 8) * 2.3e-16 ELSE 0 END) / number_down
    ) AS upper
  FROM (
    SELECT
      __key__,
      records,
      mass,
      total,
      certain_low,
      certain_high,
      taken_low,
      taken_high,
      certain_below + taken_below AS below,
      certain_above + taken_above AS above,
      certain_records + taken_up AS number_up,
      certain_records + taken_down AS number_down,
      $rounded = 1 AND (any_rough_below = 1 OR (any_rough_below = 0 AND certain_below + taken_below > 1e12)) AS rounds_below,
      $rounded = 1 AND (any_rough_above = 1 OR (any_rough_above = 0 AND certain_above + taken_above > 1e12)) AS rounds_above
    FROM (
      SELECT
        __key__,
        records,
        mass,
        total,
        MAX(rough_below) OVER (PARTITION BY __key__) AS any_rough_below,
        MAX(rough_above) OVER (PARTITION BY __key__) AS any_rough_above,
        SUM(CASE WHEN certain THEN records ELSE 0 END) OVER (PARTITION BY __key__) AS certain_records,
        SUM(CASE WHEN certain THEN records * low ELSE 0 END) OVER (PARTITION BY __key__) AS certain_low,
        SUM(CASE WHEN certain THEN records * high ELSE 0 END) OVER (PARTITION BY __key__) AS certain_high,
        SUM(CASE WHEN certain THEN records * below ELSE 0 END) OVER (PARTITION BY __key__) AS certain_below,
        SUM(CASE WHEN certain THEN records * above ELSE 0 END) OVER (PARTITION BY __key__) AS certain_above,
        SUM(CASE WHEN certain THEN 0 ELSE records END) OVER upwards AS taken_up,
        SUM(CASE WHEN certain THEN 0 ELSE records * low END) OVER upwards AS taken_low,
        SUM(CASE WHEN certain THEN 0 ELSE records * below END) OVER upwards AS taken_below,
        SUM(CASE WHEN certain THEN 0 ELSE records END) OVER downwards AS taken_down,
        SUM(CASE WHEN certain THEN 0 ELSE records * high END) OVER downwards AS taken_high,
        SUM(CASE WHEN certain THEN 0 ELSE records * above END) OVER downwards AS taken_above
      FROM __items__
      WINDOW
        upwards AS (PARTITION BY __key__ ORDER BY low RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        downwards AS (PARTITION BY __key__ ORDER BY high DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    ) AS taken
  ) AS ends
  GROUP BY __key__
) AS averaged
