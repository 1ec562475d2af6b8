-- profiling/round_ends: where nearly all numbers of a column lie
-- reads   __rel__    one row per record        __col__   the column        $share  beyond each end
-- gives   low, high  one row
SELECT
  quantile_cont(CAST(__col__ AS DOUBLE), $share) AS low,
  quantile_cont(CAST(__col__ AS DOUBLE), 1 - $share) AS high
FROM __rel__
