-- utility/value_counts: how often each value of one column occurs
-- reads   __rel__    one row per record        __col__ one column
-- gives   value (as text), records             one row a value
SELECT
  CAST(__col__ AS VARCHAR) AS value,
  count(*) AS records
FROM __rel__
GROUP BY __col__
