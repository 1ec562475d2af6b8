-- evaluation/homogeneous_classes: classes in which one sensitive value is that of every member
-- reads   __members__    one row per record: __qi__, which make its class, and value; NULL is a value of its own
-- gives   classes, records    one row
SELECT
  count(*) AS classes,
  CAST(coalesce(sum(records), 0) AS BIGINT) AS records
FROM (
  SELECT sum(records) AS records
  FROM (
    SELECT __qi__, value, count(*) AS records FROM __members__ AS members GROUP BY __qi__, value
  ) AS held
  GROUP BY __qi__
  HAVING max(records) = sum(records)
) AS uniform
