-- utility/block_entropy_told: as block_entropy, of a quasi-identifier whose value every class tells
-- reads   __values__   value, and records of the source, how many have it; values may repeat
--         $released    records of the classes that are released
-- gives   bits, records: the bits of all records together, and how many they are         one row
-- only a removed record leaves bits open: it may be any of the source
WITH marginal AS (
  SELECT sum(records)::BIGINT AS records
  FROM __values__ AS cells
  GROUP BY value
), total AS (
  SELECT sum(records)::BIGINT AS records FROM marginal
), whole AS (
  -- added in one order, so that a sum is the same in every run
  SELECT
    sum(
      marginal.records / total.records * log2(total.records / marginal.records)
      ORDER BY marginal.records
    ) AS bits
  FROM marginal
  CROSS JOIN total
)
SELECT
  (total.records - $released) * whole.bits AS bits,
  total.records AS records
FROM whole
CROSS JOIN total
