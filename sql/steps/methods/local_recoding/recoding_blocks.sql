-- methods/local_recoding/recoding_blocks: which record goes to which block
-- reads   __members__   unit, __other__ the columns that tell records of a unit apart, and others
--         __places__    unit, place, block: of the records of a unit, from 1, which go to which block
--         __secret__    key: one row, what all draws depend on
-- gives   the members, and block                                                one row a record
-- Which record of a unit has which place only the key tells: an order of theirs would be told by
-- how far each is generalized.
SELECT
  numbered.* EXCLUDE (place, key),
  places.block
FROM (
  SELECT
    *,
    row_number() OVER (
      PARTITION BY unit
      ORDER BY sha256(concat_ws('|', key, 'place', __other__)), __other__
    ) AS place
  FROM __members__
  CROSS JOIN __secret__
) AS numbered
JOIN __places__ AS places
  ON places.unit = numbered.unit AND places.place = numbered.place
