-- privacy/l_recursive: the most frequent sensitive value of a class against its l-th and rarer ones
-- reads   __held__   one row per class and value: class, size, count, missing, known
--         $l         the rank from which values are rare
-- gives   found      one row, a struct: l, as l_distinct and at most $l; c, the greatest quotient of
--                    both, infinite where a class has less than l values; NULLs for an empty table.
--                    Each class is measured twice: with what is missing as one more value, and
--                    those alone who have a value
WITH twice AS (
  SELECT class, FALSE AS alone, size, count, missing
  FROM __held__
  UNION ALL
  SELECT class, TRUE AS alone, known AS size, count, missing
  FROM __held__
  WHERE NOT missing
),
ranked AS (
  SELECT
    *,
    row_number() OVER (PARTITION BY class, alone ORDER BY count DESC) AS rank
  FROM twice
),
classes AS (
  SELECT
    any_value(size) AS size,
    count(*) FILTER (WHERE NOT missing) AS distinct_values,
    bool_or(count = size) AS uniform,
    max(count) AS most,
    sum(count) FILTER (WHERE rank >= $l) AS rare
  FROM ranked
  GROUP BY class, alone
)
SELECT
  {
    'l': min(CASE WHEN uniform THEN 1 ELSE greatest(least(distinct_values, size, $l), 1) END),
    'c': max(CASE WHEN rare IS NULL THEN CAST('Infinity' AS DOUBLE) ELSE most / rare END)
  } AS found
FROM classes
