-- query/rounded_items: items as query_avg reads them, with what adding up their least and greatest values may round
-- reads   __items__   as query_items gives them
-- gives   what it reads, below and above (the sizes of low and high), rough_below and rough_above (1
--         where adding them up may round, 0 where only large sums do)
SELECT
  __key__,
  records,
  mass,
  total,
  certain,
  low,
  high,
  ABS(low) AS below,
  ABS(high) AS above,
  CASE
    WHEN ABS(low) < 1e12 AND CAST(low AS DOUBLE) * 1024 = FLOOR(CAST(low AS DOUBLE) * 1024) THEN 0 ELSE 1
  END AS rough_below,
  CASE
    WHEN ABS(high) < 1e12 AND CAST(high AS DOUBLE) * 1024 = FLOOR(CAST(high AS DOUBLE) * 1024) THEN 0 ELSE 1
  END AS rough_above
FROM __items__
