-- utility/value_counts: how often each value of one column occurs
-- reads   __cells__    value, and records, how many have it; values may repeat
-- gives   value (as text), records             one row a value
SELECT
  CAST(value AS VARCHAR) AS value,
  sum(records)::BIGINT AS records
FROM __cells__ AS cells
GROUP BY value
