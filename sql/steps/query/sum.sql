-- query/sum: the sum of each group; a record that may be missing adds nothing or its extreme. The sum
--            of no record counts as 0, so that the expected sum lies between the bounds
-- reads   __items__   as query_items gives them
-- gives   __key__, estimate, lower, upper, nonnegative (whether no value can be below 0)
SELECT
  __key__,
  CASE WHEN estimate IS NOT NULL THEN LEAST(GREATEST(estimate, lower), upper) END AS estimate,
  lower,
  upper,
  nonnegative
FROM (
  SELECT
    __key__,
    CASE WHEN SUM(mass) > 0 THEN SUM(records * total) END AS estimate,
    SUM(records * CASE WHEN certain OR low < 0 THEN low ELSE 0 END) AS lower,
    SUM(records * CASE WHEN certain OR high > 0 THEN high ELSE 0 END) AS upper,
    MIN(low) >= 0 AS nonnegative
  FROM __items__
  GROUP BY __key__
) AS summed
