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
  SELECT
    sum(
      cells.released * (cells.records / classes.records) * log2(classes.records / cells.records)
      ORDER BY classes.records, cells.records, cells.released
    ) AS bits
  FROM cells
  JOIN classes ON cells.class = classes.class
)
SELECT
  inside.bits + (total.records - total.released) * whole.bits AS bits,
  total.records AS records
FROM inside
CROSS JOIN whole
CROSS JOIN total
