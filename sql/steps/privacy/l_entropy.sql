-- privacy/l_entropy: the least exponential of the entropy of a class's sensitive values
-- reads   __held__   one row per class and value: class, size, count, missing, known
-- gives   l          one row; at most the subjects of a class, 1 where a value is that of all of
--                    them, NULL for an empty table. Each class is measured twice: with what is
--                    missing as one more value, and those alone who have a value
WITH twice AS (
  SELECT class, FALSE AS alone, size, count
  FROM __held__
  UNION ALL
  SELECT class, TRUE AS alone, known AS size, count
  FROM __held__
  WHERE NOT missing
),
shares AS (
  SELECT
    *,
    count / sum(count) OVER (PARTITION BY class, alone) AS p
  FROM twice
)
SELECT min(CASE WHEN uniform THEN 1 ELSE least(l, size) END) AS l
FROM (
  SELECT
    any_value(size) AS size,
    -- of values that are equally frequent it is their number, without rounding
    CASE WHEN min(count) = max(count) THEN count(*) ELSE exp(-sum(p * ln(p))) END AS l,
    bool_or(count = size) AS uniform
  FROM shares
  GROUP BY class, alone
)
