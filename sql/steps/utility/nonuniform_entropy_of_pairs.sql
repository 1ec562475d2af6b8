-- utility/nonuniform_entropy_of_pairs: the bits of one quasi-identifier that its released values do not tell
-- reads   __pairs__   value, label, records: how many records with a value are released as a label
--         __means__   label, value: every value that a released label stands for
-- gives   lost, whole: bits lost, and those of `*` everywhere         one row
-- a label without values stands for everything
WITH marginal AS (
  SELECT value, sum(records)::BIGINT AS records
  FROM __pairs__
  GROUP BY value
), total AS (
  SELECT sum(records)::BIGINT AS records FROM marginal
), groups AS (
  SELECT means.label, sum(marginal.records)::BIGINT AS records
  FROM __means__ AS means
  JOIN marginal ON means.value IS NOT DISTINCT FROM marginal.value
  GROUP BY means.label
), counted AS (
  SELECT value, label, sum(records)::BIGINT AS records
  FROM __pairs__
  GROUP BY value, label
), cells AS (
  SELECT
    counted.records,
    coalesce(groups.records, total.records) AS inside,
    marginal.records AS alike
  FROM counted
  JOIN marginal ON counted.value IS NOT DISTINCT FROM marginal.value
  LEFT JOIN groups ON counted.label IS NOT DISTINCT FROM groups.label
  CROSS JOIN total
)
-- added in one order, so that a sum is the same in every run
SELECT
  (SELECT sum(records * log2(inside / alike) ORDER BY alike, inside, records) FROM cells) AS lost,
  (
    SELECT sum(marginal.records * log2(total.records / marginal.records) ORDER BY marginal.records)
    FROM marginal
    CROSS JOIN total
  ) AS whole
