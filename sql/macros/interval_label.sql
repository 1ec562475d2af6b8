-- interval_label: the interval [a, b) of the given width that a number falls into, as text
-- reads   value     a number
--         width     of every interval, above 0
--         origin    where one of the intervals begins
--         lower     values below it become '< lower'; NULL: no limit
--         upper     values from it on become '>= upper'; NULL: no limit
-- gives   VARCHAR such as '[20, 25)'; NULL for NULL; an error when width or origin is NULL, width
--         is not above 0, or lower is not below upper
-- example SELECT deid.interval_label(37, 10)  -- [30, 40)
CREATE OR REPLACE MACRO deid.interval_label(
  value, width, origin := 0, lower := NULL, upper := NULL
) AS
-- each lambda names what the one before made; the arguments stand outside of them, and ['x'] is
-- written for .x, so that no column of the caller is taken for one of these names
list_transform(
  list_transform(
    -- decimals by way of text, so that the double 0.3 lies in [0.3, 0.4) and not below it
    [struct_pack(
      is_null := value IS NULL,
      value := TRY_CAST(CAST(value AS VARCHAR) AS DECIMAL(38, 9)),
      width := TRY_CAST(CAST(width AS VARCHAR) AS DECIMAL(38, 9)),
      origin := TRY_CAST(CAST(origin AS VARCHAR) AS DECIMAL(38, 9)),
      has_lower := lower IS NOT NULL,
      has_upper := upper IS NOT NULL,
      lower := TRY_CAST(CAST(lower AS VARCHAR) AS DECIMAL(38, 9)),
      upper := TRY_CAST(CAST(upper AS VARCHAR) AS DECIMAL(38, 9))
    )],
    lambda given: struct_pack(
      given := given,
      beyond := (given['value'] - given['origin']) % nullif(given['width'], 0)
    )
  ),
  -- nine decimals are always written, so that trailing zeros never belong to the whole number
  lambda found: CASE
    WHEN NOT coalesce(found['given']['width'] > 0, false) OR found['given']['origin'] IS NULL
      THEN error('deid.interval_label: width must be above 0, and neither width nor origin NULL')
    WHEN (found['given']['has_lower'] AND found['given']['lower'] IS NULL)
      OR (found['given']['has_upper'] AND found['given']['upper'] IS NULL)
      THEN error('deid.interval_label: lower or upper is not a number')
    WHEN found['given']['lower'] >= found['given']['upper']
      THEN error('deid.interval_label: lower must be below upper')
    WHEN found['given']['is_null'] THEN NULL
    WHEN found['given']['value'] IS NULL
      THEN error('deid.interval_label: a value is not a finite number below 10^29')
    WHEN found['given']['value'] < found['given']['lower']
      THEN '< ' || rtrim(rtrim(CAST(found['given']['lower'] AS VARCHAR), '0'), '.')
    WHEN found['given']['value'] >= found['given']['upper']
      THEN '>= ' || rtrim(rtrim(CAST(found['given']['upper'] AS VARCHAR), '0'), '.')
    ELSE
      '['
      || rtrim(
        rtrim(
          CAST(
            found['given']['value'] - found['beyond']
            - CASE WHEN found['beyond'] < 0 THEN found['given']['width'] ELSE 0 END
            AS VARCHAR
          ),
          '0'
        ),
        '.'
      )
      || ', '
      || rtrim(
        rtrim(
          CAST(
            found['given']['value'] - found['beyond']
            + CASE WHEN found['beyond'] < 0 THEN 0 ELSE found['given']['width'] END
            AS VARCHAR
          ),
          '0'
        ),
        '.'
      )
      || ')'
  END
)[1];
