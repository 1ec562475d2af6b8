-- overlap: the share of a released interval that lies in [lower, upper), under uniform spread
-- reads   label    '[a, b)', '< a', '>= b' or a number; with or without the level, as in '[0, 5)@1'
--         lower    where the range asked for begins; NULL: it has no lower end
--         upper    where it ends, excluded; NULL: it has no upper end
-- gives   DOUBLE from 0 to 1; NULL where an open end or a label that is no interval leaves it
--         unknown, and for NULL
-- example SELECT deid.overlap('[20, 40)', 30, 50)  -- 0.5
CREATE OR REPLACE MACRO deid.overlap(label, lower, upper) AS
-- each lambda names what the one before made; the arguments stand outside of them, and ['x'] is
-- written for .x, so that no column of the caller is taken for one of these names
list_transform(
  list_transform(
    [struct_pack(
      text := regexp_replace(CAST(label AS VARCHAR), '@\d+$', ''),
      lower := CASE
        WHEN lower IS NULL THEN CAST('-Infinity' AS DOUBLE)
        ELSE TRY_CAST(lower AS DOUBLE)
      END,
      upper := CASE
        WHEN upper IS NULL THEN CAST('Infinity' AS DOUBLE)
        ELSE TRY_CAST(upper AS DOUBLE)
      END
    )],
    lambda asked: struct_pack(
      asked := asked,
      first := CASE
        WHEN regexp_full_match(
          asked['text'],
          '(>= )?[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?'
        )
          THEN TRY_CAST(replace(asked['text'], '>= ', '') AS DOUBLE)
        WHEN regexp_full_match(
          asked['text'],
          '\[[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?, [+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\)'
        )
          THEN TRY_CAST(regexp_extract(asked['text'], '\[(.*), ', 1) AS DOUBLE)
      END,
      last := CASE
        WHEN regexp_full_match(
          asked['text'],
          '(< )?[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?'
        )
          THEN TRY_CAST(replace(asked['text'], '< ', '') AS DOUBLE)
        WHEN regexp_full_match(
          asked['text'],
          '\[[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?, [+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\)'
        )
          THEN TRY_CAST(regexp_extract(asked['text'], ', (.*)\)', 1) AS DOUBLE)
      END,
      -- a number is a point and lies in a range that begins with it; [a, a) holds nothing
      is_point := coalesce(NOT starts_with(asked['text'], '['), false)
    )
  ),
  lambda found: CASE
    WHEN coalesce(isnan(found['asked']['lower']), true)
      OR coalesce(isnan(found['asked']['upper']), true)
      THEN error('deid.overlap: lower and upper must be numbers, or NULL for no end')
    WHEN found['asked']['text'] IS NULL THEN NULL
    WHEN found['asked']['lower'] >= found['asked']['upper'] THEN 0
    WHEN found['first'] >= found['last'] AND NOT found['is_point'] THEN NULL
    WHEN found['first'] = found['last'] THEN
      CASE
        WHEN found['first'] >= found['asked']['lower'] AND found['first'] < found['asked']['upper']
          THEN 1
        ELSE 0
      END
    WHEN coalesce(found['first'], CAST('-Infinity' AS DOUBLE)) >= found['asked']['lower']
      AND coalesce(found['last'], CAST('Infinity' AS DOUBLE)) <= found['asked']['upper']
      THEN 1
    WHEN found['last'] <= found['asked']['lower'] OR found['first'] >= found['asked']['upper']
      THEN 0
    ELSE
      (
        least(found['last'], found['asked']['upper'])
        - greatest(found['first'], found['asked']['lower'])
      ) / (found['last'] - found['first'])
  END
)[1];
