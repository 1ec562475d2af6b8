-- query/arg_max: the group whose value is the greatest: the one that is expected, and the first and the last in
--                order of those that may be it, since no group that is certain is beyond them
-- reads   __items__   __key__, x (what tells groups apart), certain, value, low, high
-- gives   __key__, estimate, lower, upper
SELECT
  __key__,
  MIN(CASE WHEN place = 1 THEN x END) AS estimate,
  MIN(CASE WHEN best IS NULL OR high IS NULL OR high >= best THEN x END) AS lower,
  MAX(CASE WHEN best IS NULL OR high IS NULL OR high >= best THEN x END) AS upper
FROM (
  SELECT
    __key__,
    x,
    high,
    MAX(CASE WHEN certain THEN low END) OVER (PARTITION BY __key__) AS best,
    ROW_NUMBER() OVER (PARTITION BY __key__ ORDER BY value DESC NULLS LAST, high DESC NULLS LAST, x) AS place
  FROM __items__
) AS placed
GROUP BY __key__
