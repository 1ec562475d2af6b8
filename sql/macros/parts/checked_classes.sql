-- checked_classes: the sizes of the classes of a table, and of those that are smaller than k
-- reads   as record_classes and policy_classes, and k
-- gives   one row: __records, __classes, __smallest, __small_classes, __small_records

SELECT
  CAST(sum(__rows) AS BIGINT) AS __records,
  count(*) AS __classes,
  min(__n) AS __smallest,
  count(*) FILTER (WHERE __n < TRY_CAST(CAST(k AS VARCHAR) AS BIGINT)) AS __small_classes,
  CAST(
    coalesce(sum(__rows) FILTER (WHERE __n < TRY_CAST(CAST(k AS VARCHAR) AS BIGINT)), 0)
    AS BIGINT
  ) AS __small_records
FROM (
  SELECT
    __rows,
    coalesce(__n, 0) AS __n
  FROM __all_classes__
)
