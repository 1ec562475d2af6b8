-- risk: re-identification risk of a table whose attacker knows the quasi-identifiers
-- reads   __rel__    one row per record        __qi__ quasi-identifiers      $k records a class needs
-- gives   one row: records, classes, k, highest_risk, average_risk, unique_records, records_at_risk
SELECT
  coalesce(sum(class_size), 0)::BIGINT AS records,
  count(*) AS classes,
  min(class_size) AS k,
  1 / min(class_size) AS highest_risk,
  count(*) / sum(class_size) AS average_risk,
  count(*) FILTER (WHERE class_size = 1) AS unique_records,
  coalesce(sum(class_size) FILTER (WHERE class_size < $k), 0)::BIGINT AS records_at_risk
FROM (
  SELECT count(*) AS class_size
  FROM __rel__
  GROUP BY __qi__
)
