-- count_rows: how many records a table has
-- reads   __rel__    one row per record
-- gives   records    one row
SELECT count(*) AS records
FROM __rel__
