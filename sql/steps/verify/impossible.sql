-- verify/impossible: counterfeit records with two values that no real record has together
-- reads   __records__   one row per released record: record, its cells as text
--         __flagged__   record, counterfeits: so many of such records
--         __pairs__     known, told: the places in a record of a quasi-identifier and of a column
--                       that counterfeit records draw or copy
--         $enough       real records that would have both by chance, from which on they are missed
-- gives   impossible, how many counterfeit records have such a pair                       one row
WITH counted AS (
  SELECT record, sum(records) AS genuine, sum(counterfeits) AS counterfeits
  FROM (
    SELECT record, 1 AS records, 0 AS counterfeits
    FROM __records__
    UNION ALL
    SELECT record, -counterfeits, counterfeits
    FROM __flagged__
  ) AS both_sides
  GROUP BY record
), cells AS (
  SELECT
    record,
    genuine,
    counterfeits,
    known,
    told,
    list_extract(record, known) AS one,
    list_extract(record, told) AS other
  FROM counted
  CROSS JOIN __pairs__ AS pairs
), together AS (
  SELECT known, told, one, other, sum(genuine) AS genuine, sum(counterfeits) AS counterfeits
  FROM cells
  GROUP BY known, told, one, other
), judged AS (
  SELECT
    *,
    sum(genuine) OVER (PARTITION BY known, told, one) AS of_one,
    sum(genuine) OVER (PARTITION BY known, told, other) AS of_other,
    sum(genuine) OVER (PARTITION BY known, told) AS total
  FROM together
), wrong AS (
  SELECT known, told, one, other
  FROM judged
  WHERE counterfeits > 0 AND genuine <= 0 AND of_one * of_other >= $enough * total
)
SELECT coalesce(sum(counterfeits), 0) AS impossible
FROM (
  SELECT DISTINCT cells.record, cells.counterfeits
  FROM cells
  JOIN wrong
    ON wrong.known = cells.known
    AND wrong.told = cells.told
    AND wrong.one IS NOT DISTINCT FROM cells.one
    AND wrong.other IS NOT DISTINCT FROM cells.other
  WHERE cells.counterfeits > 0
) AS found
