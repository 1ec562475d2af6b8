-- query/measured_sum: as query_sum, of values that are known and summed up: `plus` those above 0, `minus` those
--                     below 0
-- reads   __items__   __key__, mass (expected records of each that is released), certain, plus, minus
-- gives   __key__, estimate, lower, upper, nonnegative
SELECT
  __key__,
  CASE WHEN estimate IS NOT NULL THEN LEAST(GREATEST(estimate, lower), upper) END AS estimate,
  lower,
  upper,
  nonnegative
FROM (
  SELECT
    __key__,
    CASE WHEN SUM(mass) > 0 THEN SUM(mass * CAST(plus + minus AS DOUBLE)) END AS estimate,
    CAST(SUM(CASE WHEN certain THEN plus + minus ELSE minus END) AS DOUBLE) AS lower,
    CAST(SUM(CASE WHEN certain THEN plus + minus ELSE plus END) AS DOUBLE) AS upper,
    MIN(minus) >= 0 AS nonnegative
  FROM __items__
  GROUP BY __key__
) AS summed
