-- verify_dictionary_values: how the dictionary's values of one quasi-identifier differ from the released ones
-- reads   __classes__     one row per class: __value__ of the quasi-identifier
--         __dictionary__  one row per released value        $column
-- gives   missing, foreign, repeated                        one row: counts of values
SELECT
  count(*) FILTER (WHERE entries IS NULL) AS missing,
  count(*) FILTER (WHERE classes IS NULL) AS "foreign",
  count(*) FILTER (WHERE entries > 1) AS repeated
FROM (
  SELECT CAST(__value__ AS VARCHAR) AS released_value, count(*) AS classes
  FROM __classes__
  GROUP BY __value__
) AS found
FULL JOIN (
  SELECT released_value, count(*) AS entries
  FROM __dictionary__
  WHERE "column" = $column
  GROUP BY released_value
) AS listed
ON found.released_value IS NOT DISTINCT FROM listed.released_value
