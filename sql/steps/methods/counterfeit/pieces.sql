-- methods/counterfeit/pieces: the records in classes that were made one by one
-- reads   __rows__      tuple: the number of their quasi-identifiers, code of the sensitive value,
--                       __rest__ the other columns, __other__ those that tell records apart
--         __pieces__    tuple, code, first, last, part: which of them go to which class
--         __parts__     part, __key__: what the records of a class show
--         __secret__    key: one row, what all draws depend on
-- gives   __key__, __rest__, part, code                                  one row a record
SELECT
  parts.__key__,
  numbered.__rest__,
  parts.part,
  numbered.code
FROM (
  SELECT
    given.*,
    row_number() OVER (
      PARTITION BY tuple, code
      ORDER BY sha256(concat_ws('|', key, 'piece', __other__)), __other__
    ) AS number
  FROM __rows__ AS given
  CROSS JOIN __secret__
) AS numbered
JOIN __pieces__ AS pieces
  ON pieces.tuple = numbered.tuple
  AND pieces.code = numbered.code
  AND numbered.number BETWEEN pieces.first AND pieces.last
JOIN __parts__ AS parts
  ON parts.part = pieces.part
