-- verify/subjects: whose records the classes of a release are, from the generalized source
-- reads   __people__     one row per class of the source and subject: __key__, subject, records
--         __released__   one row per released class: __key__, records
-- gives   one row: fewest subjects of a released class, subjects with a record in a class that is
--         not released, and released classes that have not all the records of the source's
WITH both_sides AS (
  SELECT __key__, subject, records AS present, 0 AS released
  FROM __people__
  UNION ALL
  SELECT __key__, NULL AS subject, 0 AS present, records AS released
  FROM __released__
),
judged AS (
  SELECT
    *,
    sum(present) OVER (PARTITION BY __key__) AS expected,
    sum(released) OVER (PARTITION BY __key__) AS found
  FROM both_sides
),
classes AS (
  SELECT
    count(DISTINCT subject) AS subjects,
    any_value(expected) AS expected,
    any_value(found) AS found
  FROM judged
  GROUP BY __key__
)
SELECT
  (SELECT min(subjects) FROM classes WHERE found > 0) AS smallest,
  (SELECT count(DISTINCT subject) FROM judged WHERE found = 0) AS suppressed,
  (SELECT count(*) FROM classes WHERE found > 0 AND found <> expected) AS partial
