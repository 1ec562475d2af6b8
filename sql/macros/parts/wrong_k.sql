-- wrong_k: an error that says what k must be: the size of a class
-- reads   k    as the macros that it is a part of
-- gives   NULL where k is a whole number, 1 or more

CASE
  WHEN NOT coalesce(
    TRY_CAST(CAST(k AS VARCHAR) AS DECIMAL(38, 9)) BETWEEN 1 AND 1000000000000000000
    AND TRY_CAST(CAST(k AS VARCHAR) AS DECIMAL(38, 9)) % 1 = 0,
    false
  )
    THEN error('deid.__macro__: k must be a whole number, 1 or more')
END
