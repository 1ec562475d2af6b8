-- query/measured_sum: as query_sum, of values that are known and summed up: `plus` those above 0, `minus` those
--                     below 0
-- reads   __items__   __key__, mass (expected records of each that is released), certain, plus, minus
-- gives   __key__, estimate, lower, upper
SELECT
  __key__,
  CASE WHEN SUM(mass) > 0 THEN SUM(mass * (plus + minus)) END AS estimate,
  SUM(CASE WHEN certain THEN plus + minus ELSE minus END) AS lower,
  SUM(CASE WHEN certain THEN plus + minus ELSE plus END) AS upper
FROM __items__
GROUP BY __key__
