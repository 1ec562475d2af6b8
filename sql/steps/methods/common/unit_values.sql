-- methods/common/unit_values: the sensitive values of the units of a transformation, counted
-- reads   __units__     one row per tuple, as class_units and set_units give them
--         __values__    one row per tuple and value: tuple, value, records
-- gives   unit, value, people (subjects, or records where every record is one), in this order
SELECT
  unit - 1 AS unit,
  value,
  CAST(
    CASE WHEN count(subject) = 0 THEN sum(found.records) ELSE count(DISTINCT subject) END AS BIGINT
  ) AS people
FROM __units__ AS part
JOIN __values__ AS found
  ON found.tuple = part.tuple
GROUP BY unit, value
ORDER BY unit, value
