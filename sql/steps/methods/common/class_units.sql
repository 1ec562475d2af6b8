-- methods/common/class_units: the units that a rule over sensitive values judges, where classes are kept whole
-- reads   __rows__    one row per tuple: tuple, class, subject (NULL where every record is one),
--                     records, loss, blank
-- gives   the rows with unit (what holds or fails together) and whole (what stays or goes together)
SELECT
  tuple,
  subject,
  records,
  loss,
  blank,
  class,
  class AS unit,
  class AS whole
FROM __rows__
