-- privacy/l_distinct: the least number of sensitive values in a class, and of its subjects who have one
-- reads   __held__   one row per class and value: class, size, count, missing, known
-- gives   l          one row; 1 where a value is that of all subjects, or of all who have one; NULL
--                    for an empty table
SELECT min(CASE WHEN uniform THEN 1 ELSE greatest(least(distinct_values, known), 1) END) AS l
FROM (
  SELECT
    class,
    count(*) FILTER (WHERE NOT missing) AS distinct_values,
    any_value(known) AS known,
    bool_or(count = size OR (NOT missing AND count = known)) AS uniform
  FROM __held__
  GROUP BY class
)
