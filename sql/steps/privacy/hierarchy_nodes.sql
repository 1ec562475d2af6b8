-- privacy/hierarchy_nodes: what stands above each value of the source, level by level up to the top
-- reads   __whole__       one row per value: value, place
--         __hierarchy__   level, value, label, above the values
-- gives   place, level, node   one row per value and level; NULL is alone below the top, where its
--                              node is NULL; a value with two labels on a level has none
WITH labelled AS (
  SELECT level, value, any_value(label) AS label
  FROM __hierarchy__
  WHERE value IS NOT NULL
  GROUP BY level, value
  HAVING count(*) = 1
),
levels AS (
  SELECT
    level,
    CASE WHEN level = max(level) OVER () THEN any_value(label) END AS label
  FROM __hierarchy__
  WHERE value IS NOT NULL
  GROUP BY level
)
SELECT place, level, label AS node
FROM __whole__ AS known
JOIN labelled
  ON labelled.value = CAST(known.value AS VARCHAR)
UNION ALL
SELECT place, level, label AS node
FROM __whole__ AS known
CROSS JOIN levels
WHERE known.value IS NULL
