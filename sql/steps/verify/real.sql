-- verify/real: the released records without the counterfeit ones
-- reads   __records__   one row per released record: record, its cells as text; __column__
--         __flagged__   record, counterfeits: so many of such records
-- gives   __column__                                one row per real record
SELECT numbered.__column__
FROM (
  SELECT *, row_number() OVER (PARTITION BY record) AS place
  FROM __records__
) AS numbered
LEFT JOIN (
  SELECT record, sum(counterfeits) AS counterfeits
  FROM __flagged__
  GROUP BY record
) AS known
  ON known.record = numbered.record
WHERE numbered.place > coalesce(known.counterfeits, 0)
