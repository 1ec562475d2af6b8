-- verify/unique_records: records that no other record equals in the given columns
-- reads   __rel__    one row per record        __cols__ the columns
-- gives   unique_records   one row
SELECT count(*) AS unique_records
FROM (
  SELECT count(*) AS class_size
  FROM __rel__
  GROUP BY __cols__
  HAVING count(*) = 1
)
