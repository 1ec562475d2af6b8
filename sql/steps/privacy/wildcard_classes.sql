-- privacy/wildcard_classes: class sizes and their weights where a NULL matches everything, on both sides
-- reads   __groups__   one row per combination: __qi__, cells (its values as a list), records, weight
-- gives   __qi__, records, class_size, weight     one row per combination
WITH marked AS (
  SELECT
    *,
    list_transform(cells, lambda cell: cell IS NULL) AS pattern
  FROM __groups__
), patterns AS (
  SELECT DISTINCT pattern
  FROM marked
), shadows AS (
  -- two combinations are compared where both patterns have values: there they must be equal.
  -- Complete combinations match no other complete one, so those pairs are left out
  SELECT
    mine.*,
    theirs.pattern AS other,
    list_transform(
      mine.cells, lambda cell, i: CASE WHEN theirs.pattern[i] THEN NULL ELSE cell END
    ) AS seen
  FROM marked AS mine
  JOIN patterns AS theirs
    ON list_contains(mine.pattern, TRUE) OR list_contains(theirs.pattern, TRUE)
), sums AS (
  SELECT
    pattern,
    other,
    seen,
    sum(records) AS met,
    sum(weight) AS weighed
  FROM shadows
  GROUP BY pattern, other, seen
)
SELECT
  __qi__,
  any_value(records) AS records,
  CAST(sum(met) AS BIGINT) AS class_size,
  sum(weighed) AS weight
FROM (
  SELECT
    __qi__,
    records,
    CASE WHEN list_contains(pattern, TRUE) THEN 0 ELSE records END AS met,
    CASE WHEN list_contains(pattern, TRUE) THEN 0 ELSE weight END AS weighed
  FROM marked
  UNION ALL
  SELECT
    shadows.__qi__,
    shadows.records,
    sums.met,
    sums.weighed
  FROM shadows
  JOIN sums
    ON sums.pattern = shadows.other
    AND sums.other = shadows.pattern
    AND sums.seen = shadows.seen
) AS meetings
GROUP BY __qi__
