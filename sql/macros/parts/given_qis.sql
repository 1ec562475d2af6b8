-- given_qis: the table to read, or an error that says what tbl and qis must be
-- reads   tbl, qis    as the macros that it is a part of
-- gives   the argument of query_table, which is computed before anything is read

coalesce(
  CASE
    WHEN NOT coalesce(len(TRY_CAST(qis AS VARCHAR[])) > 0, false)
      OR len(TRY_CAST(qis AS VARCHAR[])) > list_count(TRY_CAST(qis AS VARCHAR[]))
      THEN error('deid.__macro__: qis must be a list of column names, such as [''age'', ''sex'']')
  END,
  tbl,
  error('deid.__macro__: tbl must be the name of a table, view, CTE or file')
)
