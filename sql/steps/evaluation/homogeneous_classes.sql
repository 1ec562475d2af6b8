-- evaluation/homogeneous_classes: classes in which one sensitive value is that of every member
-- reads   __classes__    one row per class: class, records
--         __uniform__    one row per such class: class
-- gives   classes, records    one row
SELECT
  count(*) AS classes,
  CAST(coalesce(sum(records), 0) AS BIGINT) AS records
FROM __classes__ AS classes
JOIN __uniform__ AS uniform
  ON uniform.class = classes.class
