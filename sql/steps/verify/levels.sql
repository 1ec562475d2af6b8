-- verify/levels: at which levels the dictionary lists the values of records that are not suppressed
-- reads   __values__      one row per quasi-identifier (name) and released value; generalized
--         __dictionary__  one row per released value
-- gives   name, lowest, highest, number: of values      one row per name and pair of levels, NULL where not listed
SELECT found.name, listed.lowest, listed.highest, count(*) AS "number"
FROM __values__ AS found
LEFT JOIN (
  SELECT "column", released_value, min("level") AS lowest, max("level") AS highest
  FROM __dictionary__
  GROUP BY "column", released_value
) AS listed
ON found.name = listed."column" AND found.value IS NOT DISTINCT FROM listed.released_value
WHERE found.generalized
GROUP BY found.name, listed.lowest, listed.highest
