-- query/near_items: as query_rough_items, but single values in ranges where a bound may be
-- reads   __items__    __key__, records, mass, certain, plus, minus
--         __ranges__   of what is not certain at least, also by bucket
--         __near__     bucket: the ranges of which single values are needed
--         __single__   as query_items gives them: the single values in these ranges
-- gives   __key__, records, mass, total, certain, low, high
SELECT
  __key__,
  records,
  mass,
  mass * (plus + minus) / records AS total,
  certain,
  (plus + minus) / records AS low,
  (plus + minus) / records AS high
FROM __items__
WHERE certain
UNION ALL
SELECT
  __key__,
  records,
  mass,
  mass * (plus + minus) / records AS total,
  certain,
  (plus + minus) / records AS low,
  (plus + minus) / records AS high
FROM __ranges__
WHERE NOT certain
  AND NOT bucket IN (
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
  high
FROM __single__
WHERE NOT certain
