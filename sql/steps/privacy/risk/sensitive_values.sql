-- privacy/risk/sensitive_values: the values of a sensitive column in their order
-- reads   __found__   one row per value: qi_0, class_size (the records or subjects that have it)
-- gives   value, position (1, 2, …; NULL is last), people          one row per value
SELECT
  qi_0 AS value,
  row_number() OVER (ORDER BY qi_0 NULLS LAST) AS position,
  class_size AS people
FROM __found__
WHERE class_size > 0
