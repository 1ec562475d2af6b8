-- verify/range: released records with a number or date beyond those of the source
-- reads   __released__  one row per record: __cell__
--         __source__    one row per record: __cell__
-- gives   records                                                                   one row
WITH bounds AS (
  SELECT min(__cell__) AS least, max(__cell__) AS greatest FROM __source__ AS source
)
SELECT count(*) FILTER (
  WHERE NOT released.__cell__ IS NULL AND (
    bounds.least IS NULL OR released.__cell__ < bounds.least OR released.__cell__ > bounds.greatest
  )
) AS records
FROM __released__ AS released
CROSS JOIN bounds
