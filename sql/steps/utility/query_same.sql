-- utility/query_same: which estimates of one aggregate that gives no number are the truth
-- reads   __truth__      one row per group: __key__ (NULL is a group) and __value__
--         __estimate__   the same from the release, with its bounds __lower__ and __upper__
-- gives   one row: groups of the truth, lost and invented groups, and the shares of the groups of
--         both whose estimate is the truth, and whose truth is within its bounds
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
      __key__, TRUE AS of_truth, __value__ AS truth, NULL AS estimate, NULL AS at_least, NULL AS at_most
    FROM __truth__
    UNION ALL
    SELECT
      __key__, FALSE AS of_truth, NULL AS truth, __value__ AS estimate, __lower__ AS at_least,
      __upper__ AS at_most
    FROM __estimate__
  )
  GROUP BY __key__
)
SELECT
  COALESCE(SUM(truths), 0) AS groups,
  COUNT(*) FILTER (WHERE estimates = 0) AS lost,
  COUNT(*) FILTER (WHERE truths = 0) AS invented,
  AVG(CASE WHEN truth IS NOT DISTINCT FROM estimate THEN 1 ELSE 0 END)
    FILTER (WHERE truths = 1 AND estimates = 1) AS equal,
  AVG(CASE WHEN COALESCE(truth >= at_least, TRUE) AND COALESCE(truth <= at_most, TRUE) THEN 1 ELSE 0 END)
    FILTER (
      WHERE truths = 1 AND estimates = 1 AND truth IS NOT NULL
        AND (at_least IS NOT NULL OR at_most IS NOT NULL)
    ) AS within_bounds
FROM paired
