-- query/near_items: as query_rough_items, but single values in ranges where a bound may be
-- reads   __rough__    as query_rough_items gives them
--         __near__     bucket: the ranges of which single values are needed
--         __single__   as query_rounded_items gives them: the single values in these ranges
-- gives   __key__, records, mass, total, certain, low, high, below, above, rough_below, rough_above
SELECT
  __key__,
  records,
  mass,
  total,
  certain,
  low,
  high,
  below,
  above,
  rough_below,
  rough_above
FROM __rough__
WHERE certain
  OR NOT bucket IN (
    SELECT bucket
    FROM __near__
  )
UNION ALL
SELECT
  __key__,
  records,
  mass,
  total,
  certain,
  low,
  high,
  below,
  above,
  rough_below,
  rough_above
FROM __single__
WHERE NOT certain
