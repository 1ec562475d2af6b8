-- interval_label: the interval [a, b) of the given width that a number falls into, as text
-- reads   value     a number
--         width     of every interval, above 0
--         origin    where one of the intervals begins
--         lower     values below it become '< lower'; NULL: no limit
--         upper     values from it on become '>= upper'; NULL: no limit
-- gives   VARCHAR such as '[20, 25)'; NULL for NULL; an error when width or origin is NULL or width
--         is not above 0
CREATE OR REPLACE MACRO deid.interval_label(
  value, width, origin := 0, lower := NULL, upper := NULL
) AS
CASE
  WHEN NOT coalesce(width > 0, false) OR origin IS NULL
    THEN error('deid.interval_label: width must be above 0, and neither width nor origin NULL')
  WHEN value IS NULL THEN NULL
  WHEN value < lower
    THEN '< ' || regexp_replace(CAST(lower AS VARCHAR), '(\.0+|(\.\d*[1-9])0+)$', '\2')
  WHEN value >= upper
    THEN '>= ' || regexp_replace(CAST(upper AS VARCHAR), '(\.0+|(\.\d*[1-9])0+)$', '\2')
  -- the arithmetic of deid.bin; both ends without trailing zeros, so that [20, 25) reads the
  -- same for integers, decimals and doubles
  ELSE
    '['
    || regexp_replace(
      CAST(
        (value + CAST(0 AS BIGINT))
        - ((value + CAST(0 AS BIGINT)) - origin) % nullif(width, 0)
        - CASE WHEN ((value + CAST(0 AS BIGINT)) - origin) % nullif(width, 0) < 0 THEN width ELSE 0 END
        AS VARCHAR
      ),
      '(\.0+|(\.\d*[1-9])0+)$', '\2'
    )
    || ', '
    || regexp_replace(
      CAST(
        (value + CAST(0 AS BIGINT))
        - ((value + CAST(0 AS BIGINT)) - origin) % nullif(width, 0)
        - CASE WHEN ((value + CAST(0 AS BIGINT)) - origin) % nullif(width, 0) < 0 THEN width ELSE 0 END
        + width
        AS VARCHAR
      ),
      '(\.0+|(\.\d*[1-9])0+)$', '\2'
    )
    || ')'
END;
