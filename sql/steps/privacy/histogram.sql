-- privacy/histogram: how many classes and records there are of each class size
-- reads   __classes__   one row per class: records, class_size, NULL where records have no class
-- gives   class_size, classes, records         one row a size, smallest first
SELECT
  class_size,
  count(*) AS classes,
  sum(records)::BIGINT AS records
FROM __classes__
WHERE class_size IS NOT NULL
GROUP BY class_size
ORDER BY class_size
