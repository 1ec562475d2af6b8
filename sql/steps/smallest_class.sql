-- smallest_class: how many records the smallest equivalence class holds (k)
-- reads   __rel__    one row per record        __qi__ quasi-identifiers
-- gives   smallest   one row; NULL for an empty table
SELECT min(class_size) AS smallest
FROM (
  SELECT count(*) AS class_size
  FROM __rel__
  GROUP BY __qi__
)
