-- utility/mutual_information: how much the classes of a release tell of a sensitive column, in bits
-- reads   __released__  __qi__, value, and records, how many are released with both; they may repeat
--         __source__    value, and records, how many of the source have it; values may repeat
-- gives   information, entropy: of what was told, and of the column in the source         one row
-- what was removed is one class
WITH counts AS (
  SELECT __qi__, value, sum(released.records)::BIGINT AS records
  FROM __released__ AS released
  GROUP BY __qi__, value
), held AS (
  SELECT value, sum(source.records)::BIGINT AS records
  FROM __source__ AS source
  GROUP BY value
), kept AS (
  SELECT value, sum(records)::BIGINT AS records
  FROM counts
  GROUP BY value
), removed AS (
  SELECT held.records - coalesce(kept.records, 0) AS records
  FROM held
  LEFT JOIN kept ON held.value IS NOT DISTINCT FROM kept.value
), joint AS (
  SELECT records, count(*) AS alike
  FROM (
    SELECT records FROM counts
    UNION ALL
    SELECT records FROM removed WHERE records > 0
  ) AS cells
  GROUP BY records
), classes AS (
  SELECT records, count(*) AS alike
  FROM (
    SELECT sum(records)::BIGINT AS records FROM counts GROUP BY __qi__
    UNION ALL
    SELECT sum(records)::BIGINT AS records FROM removed HAVING sum(records) > 0
  ) AS wholes
  GROUP BY records
), sums AS (
  -- many have the same number of records: each number is added once, and in one order, so that a
  -- sum is the same in every run
  SELECT
    (SELECT sum(alike * records * log2(records) ORDER BY records) FROM joint) AS joint,
    (SELECT sum(alike * records * log2(records) ORDER BY records) FROM classes) AS classes,
    (SELECT sum(records * log2(records) ORDER BY records) FROM held) AS held,
    (SELECT sum(records)::BIGINT FROM held) AS total
)
SELECT
  greatest(log2(total) + (joint - classes - held) / total, 0) AS information,
  greatest(log2(total) - held / total, 0) AS entropy
FROM sums
