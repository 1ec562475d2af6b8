-- l_entropy: the least exponential of the entropy of a class's sensitive values
-- reads   __held__   one row per class and value: class, size, count
-- gives   l          one row; at most the subjects of a class, 1 where a value is that of all of
--                    them, NULL for an empty table
WITH shares AS (
  SELECT
    *,
    count / sum(count) OVER (PARTITION BY class) AS p
  FROM __held__
)
SELECT min(CASE WHEN uniform THEN 1 ELSE least(l, size) END) AS l
FROM (
  SELECT
    any_value(size) AS size,
    -- of values that are equally frequent it is their number, without rounding
    CASE WHEN min(count) = max(count) THEN count(*) ELSE exp(-sum(p * ln(p))) END AS l,
    bool_or(count = size) AS uniform
  FROM shares
  GROUP BY class
)
