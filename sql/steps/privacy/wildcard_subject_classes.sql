-- privacy/wildcard_subject_classes: distinct subjects of classes where a NULL matches everything
-- reads   __groups__   one row per combination and subject: __qi__, subject, cells (the values of
--                      the combination as a list), records
-- gives   __qi__, records, class_size             one row per combination
WITH marked AS (
  SELECT
    *,
    list_transform(cells, lambda cell: cell IS NULL) AS pattern
  FROM __groups__
), patterns AS (
  SELECT DISTINCT pattern
  FROM marked
), shadows AS (
  -- as in wildcard_classes: the values that both patterns have
  SELECT
    mine.*,
    theirs.pattern AS other,
    list_transform(
      mine.cells, lambda cell, i: CASE WHEN theirs.pattern[i] THEN NULL ELSE cell END
    ) AS seen
  FROM marked AS mine
  JOIN patterns AS theirs
    ON list_contains(mine.pattern, TRUE) OR list_contains(theirs.pattern, TRUE)
), people AS (
  SELECT DISTINCT
    pattern,
    other,
    seen,
    subject
  FROM shadows
  WHERE subject IS NOT NULL
), combinations AS (
  SELECT DISTINCT
    __qi__,
    pattern,
    other,
    seen
  FROM shadows
)
SELECT
  __qi__,
  CAST(sum(records) AS BIGINT) AS records,
  count(DISTINCT subject) AS class_size
FROM (
  SELECT
    __qi__,
    records,
    subject
  FROM marked
  UNION ALL
  SELECT
    combinations.__qi__,
    0 AS records,
    people.subject
  FROM combinations
  JOIN people
    ON people.pattern = combinations.other
    AND people.other = combinations.pattern
    AND people.seen = combinations.seen
) AS meetings
GROUP BY __qi__
