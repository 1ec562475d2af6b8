-- evaluation/homogeneous_classes: classes in which one sensitive value is that of every member
-- reads   __members__    __qi__, which make a class, value, and records, how many have both; they may
--                        repeat; NULL is a value of its own
-- gives   classes, records    one row
SELECT
  count(*) AS classes,
  CAST(coalesce(sum(records), 0) AS BIGINT) AS records
FROM (
  SELECT sum(records) AS records
  FROM (
    SELECT __qi__, value, sum(members.records) AS records
    FROM __members__ AS members
    GROUP BY __qi__, value
  ) AS held
  GROUP BY __qi__
  HAVING max(records) = sum(records)
) AS uniform
