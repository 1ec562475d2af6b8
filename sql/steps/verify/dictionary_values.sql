-- verify/dictionary_values: how the dictionary's values differ from the released ones
-- reads   __values__      one row per quasi-identifier (name) and released value
--         __dictionary__  one row per released value
-- gives   name; missing, foreign, repeated: counts of values; entries of the dictionary     one row per name
SELECT
  coalesce(found.name, listed."column") AS name,
  count(*) FILTER (WHERE entries IS NULL) AS missing,
  count(*) FILTER (WHERE found.name IS NULL) AS "foreign",
  count(*) FILTER (WHERE entries > 1) AS repeated,
  coalesce(sum(entries), 0)::BIGINT AS entries
FROM __values__ AS found
FULL JOIN (
  SELECT "column", released_value, count(*) AS entries
  FROM __dictionary__
  GROUP BY "column", released_value
) AS listed
ON found.name = listed."column" AND found.value IS NOT DISTINCT FROM listed.released_value
GROUP BY coalesce(found.name, listed."column")
