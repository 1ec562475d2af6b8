-- query/arg_min: the group whose value is the least: the one that is expected, and the first and the last in
--                order of those that may be it, since no group that is certain is beyond them
-- reads   __items__   __key__, x (what tells groups apart), certain, value, low, high
-- gives   __key__, estimate, lower, upper
SELECT
  __key__,
  MIN(CASE WHEN place = 1 THEN x END) AS estimate,
  MIN(CASE WHEN best IS NULL OR low IS NULL OR low <= best THEN x END) AS lower,
  MAX(CASE WHEN best IS NULL OR low IS NULL OR low <= best THEN x END) AS upper
FROM (
  SELECT
    __key__,
    x,
    low,
    MIN(CASE WHEN certain THEN high END) OVER (PARTITION BY __key__) AS best,
    ROW_NUMBER() OVER (PARTITION BY __key__ ORDER BY value ASC NULLS LAST, low ASC NULLS LAST, x) AS place
  FROM __items__
) AS placed
GROUP BY __key__
