-- query/sum: the sum of each group; a record that may be missing adds nothing or its extreme. The sum
--            of no record counts as 0, so that the expected sum lies between the bounds. Each is
--            beyond what adding up in any order can round it to (Higham 2002, section 4.2): nothing
--            where all that is added up are multiples of 1/1024 and small enough to stay so
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
    estimate,
    lower - CASE WHEN rough_below OR below > 1e12 THEN (many + 8) * below * 2.3e-16 ELSE 0 END AS lower,
    upper + CASE WHEN rough_above OR above > 1e12 THEN (many + 8) * above * 2.3e-16 ELSE 0 END AS upper,
    nonnegative
  FROM (
    SELECT
      __key__,
      CASE WHEN SUM(mass) > 0 THEN SUM(records * total) END AS estimate,
      SUM(records * least) AS lower,
      SUM(records * most) AS upper,
      SUM(records * ABS(least)) AS below,
      SUM(records * ABS(most)) AS above,
      SUM(records) AS many,
      MAX(CASE WHEN ABS(least) < 1e12 AND least * 1024 = FLOOR(least * 1024) THEN 0 ELSE 1 END) = 1 AS rough_below,
      MAX(CASE WHEN ABS(most) < 1e12 AND most * 1024 = FLOOR(most * 1024) THEN 0 ELSE 1 END) = 1 AS rough_above,
      MIN(low) >= 0 AS nonnegative
    FROM (
      SELECT
        __key__,
        records,
        mass,
        total,
        low,
        CAST(CASE WHEN certain OR low < 0 THEN low ELSE 0 END AS DOUBLE) AS least,
        CAST(CASE WHEN certain OR high > 0 THEN high ELSE 0 END AS DOUBLE) AS most
      FROM __items__
    ) AS ends
    GROUP BY __key__
  ) AS added
) AS summed
