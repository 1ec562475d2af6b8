-- utility/fidelity/conditional_privacy: what is left to know of a column for whoever knows the synthetic value
-- reads   __cells__    cluster, side (source or released), records, value: a value or its bin
-- gives   entropy: of the column in the source; conditional: given the synthetic value of a record
--         of the same cluster, in bits                                                    one row
-- Each record of a cluster of n is paired with each synthetic one, as 1/n of a pair. What is grouped
-- first is not n² pairs of records but pairs of values.
WITH counts AS (
  SELECT cluster, side, value, sum(records) AS records
  FROM __cells__
  GROUP BY cluster, side, value
), sizes AS (
  SELECT cluster, sum(records) AS records
  FROM counts
  WHERE side = 'released'
  GROUP BY cluster
), pairs AS (
  -- added in one order, so that a sum is the same in every run
  SELECT
    source.value AS original,
    released.value AS synthetic,
    sum(source.records * released.records / sizes.records ORDER BY sizes.cluster) AS records
  FROM counts AS source
  JOIN counts AS released
    ON released.cluster = source.cluster AND released.side = 'released'
  JOIN sizes
    ON sizes.cluster = source.cluster
  WHERE source.side = 'source'
  GROUP BY source.value, released.value
), originals AS (
  SELECT sum(records) AS records FROM counts WHERE side = 'source' GROUP BY value
), synthetics AS (
  SELECT sum(records ORDER BY original) AS records FROM pairs GROUP BY synthetic
), sums AS (
  SELECT
    (SELECT sum(records * log2(records) ORDER BY records) FROM pairs) AS pairs,
    (SELECT sum(records * log2(records) ORDER BY records) FROM originals) AS originals,
    (SELECT sum(records * log2(records) ORDER BY records) FROM synthetics) AS synthetics,
    (SELECT sum(records) FROM originals) AS total
)
SELECT
  greatest(log2(total) - originals / total, 0) AS entropy,
  greatest((synthetics - pairs) / total, 0) AS conditional
FROM sums
