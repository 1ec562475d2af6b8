-- given_sensitive: the table to read, or an error that says what the other arguments must be
-- reads   tbl, qis, sensitive, subject, null_policy    as the macros that it is a part of
-- gives   the argument of query_table, which is computed before anything is read; no wildcard

coalesce(
  CASE
    WHEN typeof(sensitive) <> 'VARCHAR' OR sensitive IS NULL OR CAST(sensitive AS VARCHAR) = ''
      THEN error('deid.__macro__: sensitive must be the name of a column, such as ''diagnosis''')
  END,
  __given_policy__
)
