-- privacy/risk/risk: re-identification risk of a table whose attacker knows the quasi-identifiers
-- reads   __classes__   one row per class: records, class_size, NULL where records have no class
--         $k            what a class needs
-- gives   one row: records, classes, k, highest_risk, average_risk (the mean over the records of
--         1 / class_size), unique_records, records_at_risk
SELECT
  coalesce(sum(records), 0)::BIGINT AS records,
  count(class_size) AS classes,
  min(class_size) AS k,
  -- a class of which nobody is known protects nobody
  CASE WHEN min(class_size) = 0 THEN 1 ELSE 1 / min(class_size) END AS highest_risk,
  sum(records / class_size) / sum(records) FILTER (WHERE class_size IS NOT NULL) AS average_risk,
  coalesce(sum(records) FILTER (WHERE class_size <= 1), 0)::BIGINT AS unique_records,
  coalesce(sum(records) FILTER (WHERE coalesce(class_size, 0) < $k), 0)::BIGINT AS records_at_risk
FROM __classes__
