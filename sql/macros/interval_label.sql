-- interval_label: the interval [a, b) that a number falls into, or the period of a date, as text
-- reads   value     a number, or a date
--         width     of every interval, above 0; of dates week, month, quarter, year or decade
--         origin    where one of the intervals begins; dates take none
--         lower     values below it become '< lower', and an interval begins there; NULL: no limit
--         upper     values from it on become '>= upper', and an interval ends there; NULL: no limit
-- gives   VARCHAR such as '[20, 25)', of dates '2019-W03', '2019-07', '2019-Q3', '2019' or '2010s',
--         as a run labels them; NULL for NULL; an error when width or origin is NULL, width is not
--         above 0, lower is not below upper, or a date is not of the years 1 to 9998
-- example SELECT deid.interval_label(37, 10)  -- [30, 40)
CREATE OR REPLACE MACRO deid.interval_label(
  value, width, origin := 0, lower := NULL, upper := NULL
) AS
-- each lambda names what the one before made; the arguments stand outside of them, and ['x'] is
-- written for .x, so that no column of the caller is taken for one of these names. What depends on
-- types and constants alone is decided once, when the query is planned
CASE
  WHEN CAST(width AS VARCHAR) IN ('week', 'month', 'quarter', 'year', 'decade') THEN
    CASE
      WHEN coalesce(CAST(origin AS VARCHAR) <> '0', true)
        THEN error('deid.interval_label: origin is for numbers: leave it out for dates')
      WHEN (lower IS NOT NULL AND TRY_CAST(CAST(lower AS VARCHAR) AS DATE) IS NULL)
        OR (upper IS NOT NULL AND TRY_CAST(CAST(upper AS VARCHAR) AS DATE) IS NULL)
        THEN error('deid.interval_label: lower or upper is not a date')
      WHEN TRY_CAST(CAST(lower AS VARCHAR) AS DATE) >= TRY_CAST(CAST(upper AS VARCHAR) AS DATE)
        THEN error('deid.interval_label: lower must be below upper')
      ELSE list_transform(
        [struct_pack(
          is_null := value IS NULL,
          day := TRY_CAST(value AS DATE),
          period := CAST(width AS VARCHAR),
          lower := TRY_CAST(CAST(lower AS VARCHAR) AS DATE),
          upper := TRY_CAST(CAST(upper AS VARCHAR) AS DATE)
        )],
        lambda given: CASE
          WHEN given['is_null'] THEN NULL
          WHEN NOT coalesce(given['day'] BETWEEN DATE '0001-01-01' AND DATE '9998-12-31', false)
            THEN error('deid.interval_label: a value is not a date of the years 1 to 9998')
          WHEN given['day'] < given['lower'] THEN '< ' || CAST(given['lower'] AS VARCHAR)
          WHEN given['day'] >= given['upper'] THEN '>= ' || CAST(given['upper'] AS VARCHAR)
          WHEN given['period'] = 'month' THEN strftime(given['day'], '%Y-%m')
          WHEN given['period'] = 'year' THEN strftime(given['day'], '%Y')
          WHEN given['period'] = 'week' THEN strftime(given['day'], '%G-W%V')
          WHEN given['period'] = 'quarter'
            THEN concat(strftime(given['day'], '%Y'), '-Q', quarter(given['day']))
          ELSE concat(left(strftime(given['day'], '%Y'), 3), '0s')
        END
      )[1]
    END
  ELSE coalesce(
    -- what most ask for, in a fraction of the time: ends that are whole numbers, and a value that
    -- is whole, or is rounded down as a double without doubt; NULL leaves it to what comes after
    CASE
      WHEN len(list_filter(
        [
          CAST(width AS VARCHAR),
          CAST(origin AS VARCHAR),
          CASE WHEN lower IS NULL THEN '0' ELSE CAST(lower AS VARCHAR) END,
          CASE WHEN upper IS NULL THEN '0' ELSE CAST(upper AS VARCHAR) END
        ],
        lambda one: abs(TRY_CAST(one AS DECIMAL(38, 9))) <= 1000000000000000
          AND TRY_CAST(one AS DECIMAL(38, 9)) % 1 = 0
      )) = 4
        AND TRY_CAST(CAST(width AS VARCHAR) AS BIGINT) > 0
        AND (
          lower IS NULL
          OR upper IS NULL
          OR TRY_CAST(CAST(lower AS VARCHAR) AS BIGINT)
            < TRY_CAST(CAST(upper AS VARCHAR) AS BIGINT)
        )
        THEN list_transform(
          [struct_pack(
            value := CASE
              WHEN typeof(value) IN (
                'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'UTINYINT', 'USMALLINT', 'UINTEGER'
              )
                THEN TRY_CAST(value AS BIGINT)
              WHEN typeof(value) = 'DOUBLE' OR typeof(value) LIKE 'DECIMAL(%'
                THEN list_transform(
                  [TRY_CAST(value AS DOUBLE)],
                  lambda one: CASE
                    WHEN abs(one) <= 1000000 AND floor(one) = floor(one + 1e-9)
                      THEN CAST(floor(one) AS BIGINT)
                  END
                )[1]
            END,
            width := TRY_CAST(CAST(width AS VARCHAR) AS BIGINT),
            -- an end below all of these values, for the remainder to be 0 or more
            start := TRY_CAST(CAST(origin AS VARCHAR) AS BIGINT)
              % nullif(TRY_CAST(CAST(width AS VARCHAR) AS BIGINT), 0)
              - 4000000000000000
              // nullif(TRY_CAST(CAST(width AS VARCHAR) AS BIGINT), 0)
              * TRY_CAST(CAST(width AS VARCHAR) AS BIGINT),
            lower := TRY_CAST(CAST(lower AS VARCHAR) AS BIGINT),
            upper := TRY_CAST(CAST(upper AS VARCHAR) AS BIGINT)
          )],
          lambda given: CASE
            WHEN given['value'] < given['lower'] THEN concat('< ', given['lower'])
            WHEN given['value'] >= given['upper'] THEN concat('>= ', given['upper'])
            WHEN given['value'] BETWEEN -1000000000000000 AND 1000000000000000 THEN concat(
              '[',
              greatest(
                given['value'] - (given['value'] - given['start']) % given['width'],
                given['lower']
              ),
              ', ',
              least(
                given['value'] - (given['value'] - given['start']) % given['width']
                + given['width'],
                given['upper']
              ),
              ')'
            )
          END
        )[1]
    END,
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
          THEN error(concat(
            'deid.interval_label: width must be above 0, or of dates week, month, quarter, year ',
            'or decade, and neither width nor origin NULL'
          ))
        WHEN (found['given']['has_lower'] AND found['given']['lower'] IS NULL)
          OR (found['given']['has_upper'] AND found['given']['upper'] IS NULL)
          THEN error('deid.interval_label: lower or upper is not a number')
        WHEN found['given']['lower'] >= found['given']['upper']
          THEN error('deid.interval_label: lower must be below upper')
        WHEN found['given']['is_null'] THEN NULL
        WHEN found['given']['value'] IS NULL
          THEN error(concat(
            'deid.interval_label: a value is not a finite number below 10^29; of dates, width is ',
            'week, month, quarter, year or decade'
          ))
        WHEN found['given']['value'] < found['given']['lower']
          THEN '< ' || rtrim(rtrim(CAST(found['given']['lower'] AS VARCHAR), '0'), '.')
        WHEN found['given']['value'] >= found['given']['upper']
          THEN '>= ' || rtrim(rtrim(CAST(found['given']['upper'] AS VARCHAR), '0'), '.')
        ELSE
          '['
          || rtrim(
            rtrim(
              CAST(
                greatest(
                  found['given']['value'] - found['beyond']
                  - CASE WHEN found['beyond'] < 0 THEN found['given']['width'] ELSE 0 END,
                  found['given']['lower']
                )
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
                least(
                  found['given']['value'] - found['beyond']
                  + CASE WHEN found['beyond'] < 0 THEN 0 ELSE found['given']['width'] END,
                  found['given']['upper']
                )
                AS VARCHAR
              ),
              '0'
            ),
            '.'
          )
          || ')'
      END
    )[1]
  )
END;
