-- bin: the lower end of the interval [a, b) of the given width that a number falls into
-- reads   value     a number
--         width     of every interval, above 0
--         origin    where one of the intervals begins
-- gives   a number; NULL for NULL; an error when width or origin is NULL or infinite, or width is
--         not above 0.
--         A double counts as it is stored, 0.3 just below 3 * 0.1: cast it to DECIMAL for that edge
-- example SELECT deid.bin(37, 10)  -- 30
CREATE OR REPLACE MACRO deid.bin(value, width, origin := 0) AS
CASE
  WHEN NOT coalesce(width > 0, false)
    OR NOT coalesce(isfinite(TRY_CAST(width AS DOUBLE)), false)
    OR NOT coalesce(isfinite(TRY_CAST(origin AS DOUBLE)), false)
    THEN error('deid.bin: width must be above 0, and width and origin finite, neither of them NULL')
  -- adding a BIGINT widens small integers, which would overflow near their limits;
  -- the remainder is exact for integers, decimals and doubles, and negative below the origin
  ELSE
    (value + CAST(0 AS BIGINT))
    - ((value + CAST(0 AS BIGINT)) - origin) % nullif(width, 0)
    - CASE WHEN ((value + CAST(0 AS BIGINT)) - origin) % nullif(width, 0) < 0 THEN width ELSE 0 END
END;
