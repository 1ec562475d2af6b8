-- methods/local_recoding/dealing_numbers: how many blocks each class gives at most, made up in the way that is worth most
-- reads   __entries__    class, value, records
--         __ways__       way, size, different: a block's least numbers of records and of values;
--                        needed: how many values it must have; worth: of each record that is dealt
--         __portions__   way, value, most, least: of a block's records; rare: a block must have one
-- gives   class, way, number, before: blocks of the classes before   one row a class that gives any
WITH RECURSIVE numbers AS (
  SELECT
    entries.class,
    ways.way,
    CASE
      WHEN count(*) FILTER (WHERE least > 0 AND entries.records >= least) < any_value(needed) THEN 0
      ELSE least(
        CAST(sum(entries.records) AS BIGINT) // any_value(size),
        coalesce(CAST(sum(entries.records) FILTER (WHERE rare) AS BIGINT), 0),
        min(entries.records // nullif(least, 0))
      )
    END AS number
  FROM __entries__ AS entries
  JOIN __portions__ AS portions
    ON portions.value = entries.value
  JOIN __ways__ AS ways
    ON ways.way = portions.way
  GROUP BY entries.class, ways.way
  UNION ALL
  -- so many blocks may take less of a value than there is, and then there are fewer
  SELECT
    class,
    way,
    fewer AS number
  FROM (
    SELECT
      numbers.class,
      numbers.way,
      numbers.number,
      least(
        CAST(sum(least(entries.records, most * number)) AS BIGINT) // any_value(size),
        CAST(sum(least(entries.records, most * number, number)) AS BIGINT) // any_value(different)
      ) AS fewer
    FROM numbers
    JOIN __ways__ AS ways
      ON ways.way = numbers.way
    JOIN __portions__ AS portions
      ON portions.way = numbers.way
    JOIN __entries__ AS entries
      ON entries.class = numbers.class AND entries.value = portions.value
    GROUP BY numbers.class, numbers.way, numbers.number
  ) AS tried
  WHERE fewer < number
), covered AS (
  SELECT
    found.class,
    found.way,
    found.number,
    CAST(sum(least(entries.records, most * number)) AS BIGINT) * any_value(worth) AS worth
  FROM (
    SELECT
      class,
      way,
      min(number) AS number
    FROM numbers
    GROUP BY class, way
  ) AS found
  JOIN __ways__ AS ways
    ON ways.way = found.way
  JOIN __portions__ AS portions
    ON portions.way = found.way
  JOIN __entries__ AS entries
    ON entries.class = found.class AND entries.value = portions.value
  GROUP BY found.class, found.way, found.number
), chosen AS (
  SELECT
    class,
    way,
    number,
    row_number() OVER (PARTITION BY class ORDER BY worth DESC, way) AS rank
  FROM covered
  WHERE worth > 0
)
SELECT
  class,
  way,
  number,
  CAST(sum(number) OVER (ORDER BY class) AS BIGINT) - number AS before
FROM chosen
WHERE rank = 1
