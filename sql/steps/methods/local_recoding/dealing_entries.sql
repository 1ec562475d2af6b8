-- methods/local_recoding/dealing_entries: the sensitive values of each class
-- reads   __classes__   class, value, records, and others
-- gives   class, value, records                                 one row a value of a class
SELECT
  class,
  value,
  CAST(sum(records) AS BIGINT) AS records
FROM __classes__
GROUP BY class, value
