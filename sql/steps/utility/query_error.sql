-- utility/query_error: how far the estimates of one aggregate are from the truth, group by group
-- reads   __truth__      one row per group: __key__ (NULL is a group) and a number __value__
--         __estimate__   the same from the release, with its bounds __lower__ and __upper__
--         $absent        the value of a group that one side lacks; NULL: it is not compared
--         $unit         what errors are divided by where the truth is 0 throughout; NULL: nothing
-- gives   one row: groups of the truth, lost and invented groups, errors, totals, and the shares of
--         the groups of both whose estimate is the truth, and whose truth is within its bounds
WITH paired AS (
  SELECT
    __key__,
    COUNT(*) FILTER (WHERE of_truth) AS truths,
    COUNT(*) FILTER (WHERE NOT of_truth) AS estimates,
    MAX(truth) AS truth,
    MAX(estimate) AS estimate,
    MAX(at_least) AS at_least,
    MAX(at_most) AS at_most
  FROM (
    SELECT
      __key__,
      TRUE AS of_truth,
      CAST(__value__ AS DOUBLE) AS truth,
      CAST(NULL AS DOUBLE) AS estimate,
      CAST(NULL AS DOUBLE) AS at_least,
      CAST(NULL AS DOUBLE) AS at_most
    FROM __truth__
    UNION ALL
    SELECT
      __key__,
      FALSE AS of_truth,
      CAST(NULL AS DOUBLE) AS truth,
      CAST(__value__ AS DOUBLE) AS estimate,
      CAST(__lower__ AS DOUBLE) AS at_least,
      CAST(__upper__ AS DOUBLE) AS at_most
    FROM __estimate__
  )
  GROUP BY __key__
),
compared AS (
  SELECT
    truths,
    estimates,
    COALESCE(truth, $absent) AS truth,
    COALESCE(estimate, $absent) AS estimate,
    ABS(COALESCE(truth, $absent) - COALESCE(estimate, $absent)) AS gap,
    truths = 1 AND estimates = 1 AS in_both,
    truth IS NOT DISTINCT FROM estimate
      OR COALESCE(ABS(truth - estimate) <= 1e-9 * GREATEST(ABS(truth), ABS(estimate)), FALSE) AS same,
    truth IS NOT NULL AND (at_least IS NOT NULL OR at_most IS NOT NULL) AS bounded,
    COALESCE(truth >= at_least - 1e-9 * GREATEST(ABS(truth), ABS(at_least)), TRUE)
      AND COALESCE(truth <= at_most + 1e-9 * GREATEST(ABS(truth), ABS(at_most)), TRUE) AS within
  FROM paired
)
SELECT
  COALESCE(SUM(truths), 0) AS groups,
  COUNT(*) FILTER (WHERE estimates = 0) AS lost,
  COUNT(*) FILTER (WHERE truths = 0) AS invented,
  CASE
    WHEN SUM(ABS(truth)) FILTER (WHERE gap IS NOT NULL) > 0
      THEN SUM(gap) / SUM(ABS(truth)) FILTER (WHERE gap IS NOT NULL)
    WHEN SUM(gap) > 0 THEN SUM(gap) / $unit
  END AS relative_error,
  AVG(gap / ABS(truth)) FILTER (WHERE truth <> 0) AS mean_group_error,
  COALESCE(SUM(truth), 0) AS true_total,
  COALESCE(SUM(estimate), 0) AS estimated_total,
  AVG(CASE WHEN same THEN 1 ELSE 0 END) FILTER (WHERE in_both) AS equal,
  AVG(CASE WHEN within THEN 1 ELSE 0 END) FILTER (WHERE in_both AND bounded) AS within_bounds
FROM compared
