-- verify/catalog: whether the rows of a catalog can be true of the release beside it
-- reads   __counts__    one row per class and sensitive value: class, value, records
--         __listed__    one row per row of the catalog: grp, class_ids, value, counterfeits
--         __members__   one row per group and class
-- gives   groups; malformed and repeated rows, classes in several groups, unknown classes, and rows
--         with more counterfeits than the group has records with the value            one row
WITH known AS (
  SELECT DISTINCT class
  FROM __counts__
),
totals AS (
  SELECT members.grp, counts.value, sum(counts.records) AS records
  FROM __members__ AS members
  JOIN __counts__ AS counts
    ON counts.class = members.class
  GROUP BY members.grp, counts.value
)
SELECT
  (SELECT count(DISTINCT grp) FROM __listed__) AS groups,
  (
    SELECT count(*)
    FROM __listed__
    WHERE counterfeits IS NULL OR counterfeits < 1 OR class_ids IS NULL OR len(class_ids) = 0
      OR class_ids <> list_sort(list_distinct(class_ids))
  ) AS malformed,
  (
    SELECT count(*)
    FROM (
      SELECT grp, value
      FROM __listed__
      GROUP BY grp, value
      HAVING count(*) > 1
    )
  ) AS repeated,
  (
    SELECT count(*)
    FROM (
      SELECT class
      FROM __members__
      GROUP BY class
      HAVING count(DISTINCT grp) > 1
    )
  ) AS overlapping,
  (
    SELECT count(*)
    FROM __members__ AS members
    ANTI JOIN known
      ON known.class = members.class
  ) AS unknown,
  (
    SELECT count(*)
    FROM __listed__ AS listed
    LEFT JOIN totals
      ON totals.grp = listed.grp AND totals.value IS NOT DISTINCT FROM listed.value
    WHERE listed.counterfeits > coalesce(totals.records, 0)
  ) AS excessive
