-- query/measured_sum: as query_sum, of values that are known and summed up: `plus` those above 0, `minus` those
--                     below 0
-- reads   __items__   __key__, records, mass (expected records of each that is released), certain, plus, minus,
--                     rough (1 where adding up may round, 0 where only large sums do, NULL of decimals)
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
    estimate,
    lower - CASE WHEN rough = 1 OR (rough = 0 AND below > 1e12) THEN (many + 8) * below * 2.3e-16 ELSE 0 END AS lower,
    upper + CASE WHEN rough = 1 OR (rough = 0 AND above > 1e12) THEN (many + 8) * above * 2.3e-16 ELSE 0 END AS upper,
    nonnegative
  FROM (
    SELECT
      __key__,
      CASE WHEN SUM(mass) > 0 THEN SUM(mass * CAST(plus + minus AS DOUBLE)) END AS estimate,
      CAST(SUM(CASE WHEN certain THEN plus + minus ELSE minus END) AS DOUBLE) AS lower,
      CAST(SUM(CASE WHEN certain THEN plus + minus ELSE plus END) AS DOUBLE) AS upper,
      CAST(SUM(CASE WHEN certain THEN plus - minus ELSE 0 - minus END) AS DOUBLE) AS below,
      CAST(SUM(CASE WHEN certain THEN plus - minus ELSE plus END) AS DOUBLE) AS above,
      SUM(records) AS many,
      MAX(rough) AS rough,
      MIN(minus) >= 0 AS nonnegative
    FROM __items__
    GROUP BY __key__
  ) AS added
) AS summed
