-- methods/local_recoding/dealing_places: the records that are dealt, laid out by value and place, and their blocks
-- reads   __classes__    class, unit, value, place, records
--         __entries__    class, value, records
--         __numbers__    class, way, number: of its blocks, before: blocks of the classes before
--         __ways__       way, largest: a block's most records; together: similar ones share a block
--         __portions__   way, value, most: of a block's records, spot: of the value in the layout,
--                        total: records of the value, of which there are few where these go first
-- gives   unit, block, records                     one row for each unit and block, in their order
WITH kept AS (
  SELECT
    numbers.class,
    entries.value,
    numbers.number,
    numbers.before,
    ways.together,
    portions.spot,
    portions.total,
    numbers.number * ways.largest AS room,
    least(entries.records, portions.most * numbers.number) AS records
  FROM __numbers__ AS numbers
  JOIN __ways__ AS ways
    ON ways.way = numbers.way
  JOIN __entries__ AS entries
    ON entries.class = numbers.class
  JOIN __portions__ AS portions
    ON portions.way = numbers.way AND portions.value = entries.value
), taken AS (
  SELECT
    kept.* EXCLUDE (records),
    greatest(
      least(records, room - sum(records) OVER (PARTITION BY class ORDER BY total, spot) + records),
      0
    ) AS taken
  FROM kept
), members AS (
  SELECT
    classes.class,
    classes.unit,
    classes.value,
    classes.records,
    sum(classes.records) OVER (
      PARTITION BY classes.class, classes.value
      ORDER BY classes.place
    ) - classes.records AS earlier
  FROM __classes__ AS classes
  SEMI JOIN __numbers__ AS numbers
    ON numbers.class = classes.class
), single AS (
  SELECT
    members.unit,
    taken.* EXCLUDE (value, room, taken),
    unnest(range(
      CAST(members.earlier AS BIGINT),
      CAST(least(members.earlier + members.records, taken.taken) AS BIGINT)
    )) AS turn
  FROM members
  JOIN taken
    ON taken.class = members.class AND taken.value = members.value
), placed AS (
  SELECT
    *,
    -- as many of each value as there are blocks come first, so that each block has different ones
    row_number() OVER (PARTITION BY class ORDER BY turn >= number, spot, turn) - 1 AS position,
    count(*) OVER (PARTITION BY class) AS size
  FROM single
)
SELECT
  unit,
  before + CASE WHEN together THEN position * number // size ELSE position % number END AS block,
  count(*) AS records
FROM placed
GROUP BY ALL
ORDER BY block, unit
