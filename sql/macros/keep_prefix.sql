-- keep_prefix: the first characters of a text, the rest replaced by one * a character
-- reads   value    a text, or anything as text
--         n        how many characters stay, at least 0
-- gives   VARCHAR, as long as the value; a value of at most n characters as it is; NULL for NULL;
--         an error when n is NULL, below 0 or no whole number
-- example SELECT deid.keep_prefix('38103', 3)  -- 381**
CREATE OR REPLACE MACRO deid.keep_prefix(value, n) AS
CASE
  -- left(value, -1) would keep all but the last character
  WHEN NOT coalesce(
    TRY_CAST(CAST(n AS VARCHAR) AS DECIMAL(38, 9)) BETWEEN 0 AND 1000000000000000000
    AND TRY_CAST(CAST(n AS VARCHAR) AS DECIMAL(38, 9)) % 1 = 0,
    false
  )
    THEN error('deid.keep_prefix: n must be a whole number, 0 or more')
  ELSE
    left(CAST(value AS VARCHAR), CAST(n AS BIGINT))
    || repeat('*', greatest(length(CAST(value AS VARCHAR)) - CAST(n AS BIGINT), 0))
END;
