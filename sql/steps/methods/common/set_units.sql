-- methods/common/set_units: the units that a rule over sensitive values judges, where rows of a subject are linked
-- reads   __rows__    one row per tuple: tuple, class, subject, records, loss, blank
-- gives   the rows with unit (the records that the subjects of one set of classes have in one of
--         them) and whole (the set, which stays or goes with all its subjects)
WITH sets AS (
  SELECT
    subject,
    dense_rank() OVER (ORDER BY list(DISTINCT class ORDER BY class)) AS whole
  FROM __rows__
  GROUP BY subject
)
SELECT
  part.tuple,
  part.subject,
  part.records,
  part.loss,
  part.blank,
  part.class,
  dense_rank() OVER (ORDER BY sets.whole, part.class) AS unit,
  sets.whole
FROM __rows__ AS part
JOIN sets
  ON sets.subject = part.subject
