-- publish/column_types: which types read all texts of a column and write them back unchanged
-- reads   __texts__   column_name, text, bound: whether the text bounds values of the column
-- gives   column_name, and for each type whether it fits; measured: whether some text is a bound
--                       one row a column that has texts
--         A number with a fraction may be written with more zeros than DOUBLE writes: where bounds
--         say that it is measured, or where all have as many decimals. Codes like 250.8 and 250.80
--         stay apart.
SELECT
  column_name,
  BOOL_OR(bound) AS measured,
  BOOL_AND(CAST(TRY_CAST(text AS BIGINT) AS VARCHAR) IS NOT DISTINCT FROM text) AS "BIGINT",
  BOOL_AND(CAST(TRY_CAST(text AS HUGEINT) AS VARCHAR) IS NOT DISTINCT FROM text) AS "HUGEINT",
  BOOL_AND(CAST(TRY_CAST(text AS DATE) AS VARCHAR) IS NOT DISTINCT FROM text) AS "DATE",
  BOOL_AND(CAST(TRY_CAST(text AS TIMESTAMP) AS VARCHAR) IS NOT DISTINCT FROM text) AS "TIMESTAMP",
  BOOL_AND(CAST(TRY_CAST(text AS BOOLEAN) AS VARCHAR) IS NOT DISTINCT FROM text) AS "BOOLEAN",
  BOOL_OR(REGEXP_MATCHES(text, '[0-9]'))
  AND (
    BOOL_AND(CAST(TRY_CAST(text AS DOUBLE) AS VARCHAR) IS NOT DISTINCT FROM text)
    OR (
      BOOL_AND(
        REGEXP_FULL_MATCH(text, '-?(0|[1-9][0-9]*)(\.[0-9]+)?')
        OR CAST(TRY_CAST(text AS DOUBLE) AS VARCHAR) IS NOT DISTINCT FROM text
      )
      AND (
        BOOL_OR(bound)
        OR MIN(LENGTH(SPLIT_PART(text, '.', 2))) = MAX(LENGTH(SPLIT_PART(text, '.', 2)))
      )
    )
  ) AS "DOUBLE"
FROM __texts__
WHERE text IS NOT NULL
GROUP BY column_name
