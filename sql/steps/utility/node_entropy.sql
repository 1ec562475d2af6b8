-- utility/node_entropy: what the released values of one quasi-identifier leave open, in bits
-- reads   __source__   value, its code, and records, how many have it; codes may repeat
--         __means__    label, code: every code that a released label stands for
--         __rel__      value, a label, and records, how many are released with it; labels may repeat
-- gives   bits, records: the bits of all records together, and how many they are         one row
-- a record that is removed, or has a label without codes, leaves the whole column open
WITH coded AS (
  SELECT source.value AS code, sum(source.records)::BIGINT AS records
  FROM __source__ AS source
  GROUP BY source.value
), total AS (
  SELECT sum(records)::BIGINT AS records FROM coded
), whole AS (
  SELECT
    sum(coded.records / total.records * log2(total.records / coded.records) ORDER BY coded.records)
      AS bits
  FROM coded
  CROSS JOIN total
), cells AS (
  SELECT means.label, coded.records
  FROM __means__ AS means
  JOIN coded ON means.code = coded.code
), groups AS (
  SELECT label, sum(records)::BIGINT AS records
  FROM cells
  GROUP BY label
), labelled AS (
  SELECT
    groups.label,
    sum(
      cells.records / groups.records * log2(groups.records / cells.records) ORDER BY cells.records
    ) AS bits
  FROM groups
  JOIN cells ON groups.label IS NOT DISTINCT FROM cells.label
  GROUP BY groups.label
), released AS (
  SELECT CAST(rel.value AS VARCHAR) AS label, sum(rel.records)::BIGINT AS records
  FROM __rel__ AS rel
  GROUP BY rel.value
), told AS (
  -- added in one order, so that a sum is the same in every run
  SELECT
    coalesce(
      sum(
        released.records * coalesce(labelled.bits, whole.bits)
        ORDER BY released.records, labelled.bits
      ),
      0
    ) AS bits,
    coalesce(sum(released.records), 0)::BIGINT AS records
  FROM released
  LEFT JOIN labelled ON released.label IS NOT DISTINCT FROM labelled.label
  CROSS JOIN whole
)
SELECT
  told.bits + (total.records - told.records) * whole.bits AS bits,
  total.records AS records
FROM told
CROSS JOIN total
CROSS JOIN whole
