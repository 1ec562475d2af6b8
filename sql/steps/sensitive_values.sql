-- sensitive_values: the values of a sensitive column in their order, with their shares of a table
-- reads   __found__   one row per value: qi_0, class_size (the records or subjects that have it)
-- gives   value, position (1, 2, …; NULL is last), people, reached (share of the values up to this
--         one), summed (the sum of these shares up to this one)          one row per value
WITH placed AS (
  SELECT
    qi_0 AS value,
    row_number() OVER (ORDER BY qi_0 NULLS LAST) AS position,
    class_size AS people
  FROM __found__
  WHERE class_size > 0
), shares AS (
  SELECT
    *,
    sum(people) OVER (ORDER BY position) / sum(people) OVER () AS reached
  FROM placed
)
SELECT
  *,
  sum(reached) OVER (ORDER BY position) AS summed
FROM shares
