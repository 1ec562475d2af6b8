-- verify/new_values: released records with a value that the source does not have
-- reads   __released__  one row per record: __cell__
--         __source__    one row per record: __cell__
-- gives   records                                                                   one row
SELECT count(*) AS records
FROM __released__ AS released
WHERE NOT released.__cell__ IS NULL AND NOT released.__cell__ IN (
  SELECT source.__cell__ FROM __source__ AS source WHERE NOT source.__cell__ IS NULL
) OR released.__cell__ IS NULL AND NOT EXISTS (
  SELECT 1 FROM __source__ AS source WHERE source.__cell__ IS NULL
)
