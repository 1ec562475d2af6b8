-- verify/listed: the rows of a catalog, their group as a number
-- reads   __catalog__   class_ids, sensitive_value, counterfeits
-- gives   grp, class_ids, value, counterfeits       one row per row of the catalog
SELECT
  dense_rank() OVER (ORDER BY class_ids) AS grp,
  class_ids,
  sensitive_value AS value,
  counterfeits
FROM __catalog__
