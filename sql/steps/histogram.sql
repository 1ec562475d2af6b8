-- histogram: how many equivalence classes there are of each size
-- reads   __rel__    one row per record        __qi__ quasi-identifiers
-- gives   class_size, classes, records         one row a size, smallest first
SELECT
  class_size,
  count(*) AS classes,
  sum(class_size)::BIGINT AS records
FROM (
  SELECT count(*) AS class_size
  FROM __rel__
  GROUP BY __qi__
)
GROUP BY class_size
ORDER BY class_size
