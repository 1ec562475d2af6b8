-- utility/block_entropy: how far the values of one quasi-identifier differ inside the classes, in bits
-- reads   __members__   class (a number), __col__ (a value of the source), records of both, and
--                       released, how many records of the class are; the same in all of a class
-- gives   bits, records: the bits of all records together, and how many they are         one row
-- a removed record may be any of the source
WITH cells AS (
  SELECT
    class, __col__ AS value, sum(records)::BIGINT AS records, any_value(released) AS released
  FROM __members__
  GROUP BY class, __col__
), classes AS (
  SELECT class, sum(records)::BIGINT AS records, any_value(released) AS released
  FROM cells
  GROUP BY class
), marginal AS (
  SELECT sum(records)::BIGINT AS records
  FROM cells
  GROUP BY value
), total AS (
  SELECT sum(records)::BIGINT AS records, sum(released)::BIGINT AS released FROM classes
), whole AS (
  -- added in one order, so that a sum is the same in every run
  SELECT
    sum(
      marginal.records / total.records * log2(total.records / marginal.records)
      ORDER BY marginal.records
    ) AS bits
  FROM marginal
  CROSS JOIN total
), inside AS (
  -- many cells have the same numbers: each is added once, as often as it is there
  SELECT
    sum(
      alike * released * (of_cell / of_class) * log2(of_class / of_cell)
      ORDER BY of_class, of_cell, released
    ) AS bits
  FROM (
    SELECT
      classes.records AS of_class, cells.records AS of_cell, cells.released, count(*) AS alike
    FROM cells
    JOIN classes ON cells.class = classes.class
    GROUP BY ALL
  ) AS counted
)
SELECT
  inside.bits + (total.records - total.released) * whole.bits AS bits,
  total.records AS records
FROM inside
CROSS JOIN whole
CROSS JOIN total
