-- verify/flags: whether the counterfeits that the owner knows of are those that the release tells
-- reads   __counts__    one row per class and sensitive value: class, value, records
--         __flags__     the owner's counterfeits: class, value, counterfeits
--         __listed__    the catalog: grp, value, counterfeits
--         __members__   grp, class
--         $k, $size     classes of fewer than k real records are padded to size
-- gives   miscounted: values of a group with another number; unlisted: classes outside of the groups;
--         lemma_1: classes and values with more counterfeits than the other classes of the group
--         have real records; unpadded: classes with another number than they need       one row
WITH balance AS (
  SELECT
    class,
    value,
    sum(records) AS records,
    sum(counterfeits) AS counterfeits,
    sum(records) - sum(counterfeits) AS genuine
  FROM (
    SELECT class, value, records, 0 AS counterfeits
    FROM __counts__
    UNION ALL
    SELECT class, value, 0, counterfeits
    FROM __flags__
  )
  GROUP BY class, value
),
grouped AS (
  SELECT
    members.grp,
    balance.*,
    sum(balance.genuine) OVER (PARTITION BY members.grp, balance.value) AS genuine_in_group
  FROM balance
  JOIN (
    SELECT DISTINCT grp, class
    FROM __members__
  ) AS members
    ON members.class = balance.class
),
claims AS (
  SELECT grp, value, sum(counterfeits) AS counterfeits, sum(claimed) AS claimed
  FROM (
    SELECT grp, value, counterfeits, 0 AS claimed
    FROM grouped
    UNION ALL
    SELECT grp, value, 0, counterfeits
    FROM __listed__
  )
  GROUP BY grp, value
),
classes AS (
  SELECT class, sum(counterfeits) AS counterfeits, sum(genuine) AS genuine
  FROM balance
  GROUP BY class
)
SELECT
  (SELECT count(*) FROM claims WHERE counterfeits <> claimed) AS miscounted,
  (
    SELECT count(DISTINCT class)
    FROM balance
    WHERE counterfeits > 0 AND NOT class IN (SELECT class FROM grouped)
  ) AS unlisted,
  (
    SELECT count(*)
    FROM grouped
    WHERE counterfeits > 0 AND genuine_in_group - genuine < counterfeits
  ) AS lemma_1,
  (
    SELECT count(*)
    FROM classes
    WHERE genuine < 1 OR counterfeits <> CASE WHEN genuine < $k THEN $size - genuine ELSE 0 END
  ) AS unpadded
