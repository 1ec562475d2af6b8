-- privacy/greatest_risk: the greatest chance to find a subject in its class
-- reads   __classes__   one row per class: class_size, NULL where records have no class
-- gives   risk          one row; infinite where records have no class, NULL for an empty table
SELECT
  max(
    CASE WHEN coalesce(class_size, 0) = 0 THEN CAST('Infinity' AS DOUBLE) ELSE 1 / class_size END
  ) AS risk
FROM __classes__
