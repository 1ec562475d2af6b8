-- l_distinct: the least number of sensitive values in a class, and of its subjects
-- reads   __held__   one row per class and value: class, size, count
-- gives   l          one row; 1 where a value is that of all subjects, NULL for an empty table
SELECT min(CASE WHEN uniform THEN 1 ELSE least(distinct_values, size) END) AS l
FROM (
  SELECT
    any_value(size) AS size,
    count(*) AS distinct_values,
    bool_or(count = size) AS uniform
  FROM __held__
  GROUP BY class
)
