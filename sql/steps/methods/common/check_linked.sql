-- methods/common/check_linked: one look at a transformation when a pseudonym links the rows of a subject
-- reads   __rows__   one row per class and subject: class, subject, records, loss, blank
--                    (whether the class has a NULL that excludes it)
--         $k         subjects that must share a whole set of classes
-- gives   one row: suppressed records, suppressed subjects, classes with a kept record, all
--         classes, fewest subjects of a kept set, sums of squares of the kept records of each
--         class and of all records, suppressed loss, sum over the kept records of one over the
--         subjects of their set
WITH sets AS (
  SELECT subject, list(class ORDER BY class) AS classes, bool_or(blank) AS blank
  FROM __rows__
  GROUP BY subject
),
alike AS (
  SELECT
    subject,
    count(*) OVER (PARTITION BY classes) AS subjects,
    count(*) OVER (PARTITION BY classes) >= $k AND NOT blank AS kept
  FROM sets
),
classes AS (
  SELECT
    part.class,
    sum(part.records) AS size,
    coalesce(sum(part.records) FILTER (WHERE kept), 0) AS kept_size,
    sum(part.records) FILTER (WHERE NOT kept) AS lost,
    sum(part.loss) FILTER (WHERE NOT kept) AS loss,
    sum(part.records / subjects) FILTER (WHERE kept) AS chance
  FROM __rows__ AS part
  JOIN alike
    ON alike.subject = part.subject
  GROUP BY part.class
)
SELECT
  coalesce(sum(lost), 0) AS suppressed,
  (SELECT count(*) FROM alike WHERE NOT kept) AS suppressed_subjects,
  count(*) FILTER (WHERE kept_size > 0) AS classes,
  count(*) AS all_classes,
  (SELECT coalesce(min(subjects), 0) FROM alike WHERE kept) AS smallest,
  coalesce(sum(kept_size * kept_size), 0) AS squares_kept,
  coalesce(sum(size * size), 0) AS squares_all,
  coalesce(sum(loss), 0) AS suppressed_loss,
  coalesce(sum(chance), 0) AS chance
FROM classes
