-- commands/unusable_weights: survey weights that no record can have
-- reads   __rel__   one row per record        __weight__   a column of numbers
-- gives   records, missing (NULL or not finite), small (below 1)                   one row
SELECT
  count(*) AS records,
  count(*) FILTER (WHERE NOT coalesce(isfinite(__weight__::DOUBLE), FALSE)) AS missing,
  count(*) FILTER (WHERE isfinite(__weight__::DOUBLE) AND __weight__ < 1) AS small
FROM __rel__
