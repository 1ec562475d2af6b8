-- methods/common/unit_counts: the units of a transformation, counted
-- reads   __units__    one row per tuple, as class_units and set_units give them
-- gives   one row per unit, in their order: class, whole, records, subjects, loss, blank
SELECT
  any_value(class) - 1 AS class,
  any_value(whole) - 1 AS whole,
  CAST(sum(records) AS BIGINT) AS records,
  CAST(CASE WHEN count(subject) = 0 THEN sum(records) ELSE count(DISTINCT subject) END AS BIGINT)
    AS subjects,
  sum(loss) AS loss,
  bool_or(blank) AS blank
FROM __units__
GROUP BY unit
ORDER BY unit
