-- query_error: how far the answers to one query are from the truth, group by group
-- reads   __truth__, __estimate__   one row per group: __key__ (NULL is a group) and records
-- gives   one row: groups of the truth, lost and invented groups, errors and totals
WITH paired AS (
  SELECT
    __key__,
    SUM(truth) AS truth,
    SUM(estimate) AS estimate
  FROM (
    SELECT __key__, CAST(records AS DOUBLE) AS truth, CAST(NULL AS DOUBLE) AS estimate
    FROM __truth__
    UNION ALL
    SELECT __key__, CAST(NULL AS DOUBLE) AS truth, CAST(records AS DOUBLE) AS estimate
    FROM __estimate__
  )
  GROUP BY __key__
)
SELECT
  COUNT(truth) AS groups,
  COUNT(*) - COUNT(estimate) AS lost,
  COUNT(*) - COUNT(truth) AS invented,
  COALESCE(SUM(ABS(COALESCE(estimate, 0) - COALESCE(truth, 0))) / GREATEST(SUM(truth), 1), 0) AS relative_error,
  AVG(ABS(COALESCE(estimate, 0) - truth) / truth) FILTER (WHERE truth > 0) AS mean_group_error,
  COALESCE(SUM(truth), 0) AS true_total,
  COALESCE(SUM(estimate), 0) AS estimated_total
FROM paired
