-- methods/common/check_subjects: one look at a transformation when distinct subjects count
-- reads   __rows__   one row per class and subject: class, subject, records, loss, blank
--                    (whether the class has a NULL that excludes it)
--         $k         subjects that a class needs
-- gives   one row: suppressed records, subjects who lose one, kept classes, all classes, fewest
--         subjects of a kept class, sums of squares of kept and of all classes, suppressed loss,
--         sum over the kept records of one over the subjects of their class
WITH judged AS (
  SELECT
    *,
    count(*) OVER (PARTITION BY class) AS subjects,
    count(*) OVER (PARTITION BY class) >= $k AND NOT blank AS kept
  FROM __rows__
),
classes AS (
  SELECT
    class,
    any_value(kept) AS kept,
    any_value(subjects) AS subjects,
    sum(records) AS size
  FROM judged
  GROUP BY class
)
SELECT
  (SELECT coalesce(sum(records), 0) FROM judged WHERE NOT kept) AS suppressed,
  (SELECT count(DISTINCT subject) FROM judged WHERE NOT kept) AS suppressed_subjects,
  count(*) FILTER (WHERE kept) AS classes,
  count(*) AS all_classes,
  coalesce(min(subjects) FILTER (WHERE kept), 0) AS smallest,
  coalesce(sum(size * size) FILTER (WHERE kept), 0) AS squares_kept,
  coalesce(sum(size * size), 0) AS squares_all,
  (SELECT coalesce(sum(loss), 0) FROM judged WHERE NOT kept) AS suppressed_loss,
  coalesce(sum(size / subjects) FILTER (WHERE kept), 0) AS chance
FROM classes
