-- topcode: a value, or the limit where the value lies above it
-- reads   value    a number or date
--         limit    the largest value that stays
-- gives   the type of the two; NULL for NULL; an error when limit is NULL or NaN
-- example SELECT deid.topcode(94, 90)  -- 90
CREATE OR REPLACE MACRO deid.topcode(value, "limit") AS
CASE
  -- no value is above NaN
  WHEN "limit" IS NULL OR CAST("limit" AS VARCHAR) = 'nan'
    THEN error('deid.topcode: the limit is NULL or NaN')
  WHEN value > "limit" THEN "limit"
  ELSE value
END;
