-- query/distinct: how many different values of the argument each group has
-- reads   __outcomes__   item, __key__, x, records, weight, mass
--         __items__      as query_items gives them
-- gives   __key__, estimate (the chances that a value occurs, summed), lower (values that certain
--         records must have, at least one where there is a certain record), upper (no more than there
--         are records)
SELECT
  __key__,
  LEAST(
    GREATEST(SUM(estimate), SUM(forced), SUM(some_certain)), SUM(possible), SUM(members)
  ) AS estimate,
  GREATEST(SUM(forced), SUM(some_certain)) AS lower,
  LEAST(SUM(possible), SUM(members)) AS upper
FROM (
  SELECT
    __key__,
    SUM(1 - EXP(absent)) AS estimate,
    COUNT(*) AS possible,
    0 AS forced,
    0 AS some_certain,
    0 AS members
  FROM (
    SELECT __key__, x, SUM(records * LN(GREATEST(1 - weight * mass, 1e-300))) AS absent
    FROM __outcomes__
    GROUP BY __key__, x
  ) AS values_of
  GROUP BY __key__
  UNION ALL
  SELECT
    __key__,
    0 AS estimate,
    0 AS possible,
    COUNT(DISTINCT CASE WHEN certain AND low = high THEN low END) AS forced,
    MAX(CASE WHEN certain THEN 1 ELSE 0 END) AS some_certain,
    SUM(records) AS members
  FROM __items__
  GROUP BY __key__
) AS parts
GROUP BY __key__
