-- homogeneous_classes: classes whose records all share one value of a sensitive column
-- reads   __rel__    one row per record        __qi__ quasi-identifiers, __sens__ one column
-- gives   classes, records                     one row; NULL is a value of its own
SELECT
  count(*) AS classes,
  coalesce(sum(class_size), 0)::BIGINT AS records
FROM (
  SELECT count(*) AS class_size
  FROM __rel__
  GROUP BY __qi__
  HAVING count(DISTINCT __sens__) + max(CASE WHEN __sens__ IS NULL THEN 1 ELSE 0 END) = 1
)
