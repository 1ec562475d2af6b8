-- homogeneous_classes: classes in which one sensitive value is that of every member, whatever else
--                      some of them have
-- reads   __classes__    one row per class: class, records
--         __held__       one row per class and value: class, size, count
-- gives   classes, records    one row; NULL is a value of its own
SELECT
  count(*) AS classes,
  CAST(coalesce(sum(records), 0) AS BIGINT) AS records
FROM __classes__ AS classes
JOIN (
  SELECT class
  FROM __held__
  GROUP BY class
  HAVING max(count) = any_value(size)
) AS uniform
  ON uniform.class = classes.class
