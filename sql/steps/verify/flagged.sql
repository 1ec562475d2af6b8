-- verify/flagged: whether the records that the owner knows to be counterfeit are in the release
-- reads   __records__   one row per released record: record, its cells as text
--         __flagged__   record, counterfeits: so many of such records
-- gives   malformed rows of it, records that are not released, how many are counterfeit and how many
--         released                                                                    one row
SELECT
  (
    SELECT count(*)
    FROM __flagged__
    WHERE record IS NULL OR counterfeits IS NULL OR counterfeits < 1
  ) AS malformed,
  coalesce(sum(greatest(0, counterfeits - records)), 0) AS missing,
  coalesce(sum(counterfeits), 0) AS counterfeits,
  coalesce(sum(records), 0) AS released
FROM (
  SELECT record, sum(records) AS records, sum(counterfeits) AS counterfeits
  FROM (
    SELECT record, 1 AS records, 0 AS counterfeits
    FROM __records__
    UNION ALL
    SELECT record, 0, counterfeits
    FROM __flagged__
  )
  GROUP BY record
)
