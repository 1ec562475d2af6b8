-- query/rough_items: items as query_avg reads them, where values that are known are summed up: those of each
--                    group that count for certain, which are in every mean, and the others by ranges of values
-- reads   __items__    __key__, records, mass, certain, plus, minus, rough as query_measured_sum reads them
--         __ranges__   of what is not certain at least, also by bucket
-- gives   __key__, records, mass, total, certain, low, high, below, above, rough_below, rough_above as query_rounded_items gives them;
--         bucket, of what is not certain
SELECT
  __key__,
  records,
  mass,
  mass * CAST(plus + minus AS DOUBLE) / records AS total,
  certain,
  CAST(plus + minus AS DOUBLE) / records AS low,
  CAST(plus + minus AS DOUBLE) / records AS high,
  CAST(plus - minus AS DOUBLE) / records AS below,
  CAST(plus - minus AS DOUBLE) / records AS above,
  rough AS rough_below,
  rough AS rough_above,
  bucket
FROM (
  SELECT
    __key__,
    records,
    mass,
    certain,
    plus,
    minus,
    rough,
    NULL AS bucket
  FROM __items__
  WHERE certain
  UNION ALL
  SELECT
    __key__,
    records,
    mass,
    certain,
    plus,
    minus,
    rough,
    bucket
  FROM __ranges__
  WHERE NOT certain
) AS summed
