-- l_recursive: the most frequent sensitive value of a class against its l-th and rarer ones
-- reads   __held__   one row per class and value: class, size, count
--         $l         the rank from which values are rare
-- gives   found      one row, a struct: l, as l_distinct and at most $l; c, the greatest quotient of
--                    both, infinite where a class has less than l values; NULLs for an empty table
WITH ranked AS (
  SELECT
    *,
    row_number() OVER (PARTITION BY class ORDER BY count DESC) AS rank
  FROM __held__
),
classes AS (
  SELECT
    any_value(size) AS size,
    count(*) AS distinct_values,
    bool_or(count = size) AS uniform,
    max(count) AS most,
    sum(count) FILTER (WHERE rank >= $l) AS rare
  FROM ranked
  GROUP BY class
)
SELECT
  {
    'l': min(CASE WHEN uniform THEN 1 ELSE least(distinct_values, size, $l) END),
    'c': max(CASE WHEN rare IS NULL THEN CAST('Infinity' AS DOUBLE) ELSE most / rare END)
  } AS found
FROM classes
