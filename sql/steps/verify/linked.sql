-- verify/linked: whose records the classes of a release are, where a pseudonym links them
-- reads   __people__     one row per class and pseudonym of the source: __key__, __pseudonym__,
--                        subject, records
--         __released__   the same of the release, without subject, with suppressed (kept as `*`)
-- gives   one row: fewest subjects of a released class, fewest subjects with one whole set of
--         classes, subjects who lost a record, released records of no or of several subjects
WITH owners AS (
  SELECT
    __pseudonym__ AS pseudonym,
    any_value(subject) AS subject,
    count(DISTINCT subject) AS subjects
  FROM __people__
  GROUP BY __pseudonym__
),
owned AS (
  SELECT
    row(__key__) AS class,
    suppressed,
    records,
    CASE WHEN subjects = 1 THEN subject END AS subject
  FROM __released__ AS written
  LEFT JOIN owners
    ON owners.pseudonym = written.__pseudonym__
),
alike AS (
  SELECT count(*) AS subjects
  FROM (
    SELECT list(DISTINCT class ORDER BY class) AS classes
    FROM owned
    WHERE subject IS NOT NULL
    GROUP BY subject
  )
  GROUP BY classes
),
balance AS (
  SELECT subject, sum(records) AS records
  FROM (
    SELECT subject, records
    FROM __people__
    UNION ALL
    SELECT subject, -records
    FROM owned
    WHERE NOT suppressed
  )
  GROUP BY subject
)
SELECT
  (
    SELECT min(subjects)
    FROM (
      SELECT count(DISTINCT subject) AS subjects
      FROM owned
      GROUP BY class
    )
  ) AS smallest,
  (SELECT min(subjects) FROM alike) AS shared,
  (SELECT count(*) FROM balance WHERE subject IS NOT NULL AND records > 0) AS suppressed,
  (SELECT coalesce(sum(records), 0) FROM owned WHERE subject IS NULL) AS unowned
