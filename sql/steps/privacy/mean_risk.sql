-- privacy/mean_risk: the mean over the records of the chance to find a subject in its class
-- reads   __classes__   one row per class: records, class_size, NULL where records have no class
-- gives   risk          one row; infinite where records have no class, NULL for an empty table
SELECT
  sum(
    CASE
      WHEN coalesce(class_size, 0) = 0 THEN CAST('Infinity' AS DOUBLE)
      ELSE records / class_size
    END
  ) / sum(records) AS risk
FROM __classes__
