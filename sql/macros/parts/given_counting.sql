-- given_counting: the table to read, or an error that says what subject and null_policy must be
-- reads   tbl, qis, subject, null_policy    as the macros that it is a part of
-- gives   the argument of query_table, which is computed before anything is read

coalesce(
  CASE
    WHEN typeof(subject) <> 'VARCHAR' OR subject IS NULL
      THEN error('deid.__macro__: subject must be the name of a column, or left out')
    WHEN NOT coalesce(
      CAST(null_policy AS VARCHAR) IN ('own_category', 'exclude')
      OR (CAST(null_policy AS VARCHAR) = 'wildcard' AND CAST(subject AS VARCHAR) = ''),
      false
    )
      THEN error(
        'deid.__macro__: null_policy must be own_category, exclude or, without a subject, wildcard'
      )
  END,
  __given_qis__
)
