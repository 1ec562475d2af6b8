-- publish/dictionary_texts: every text of a dictionary that is a value of its column, or a bound of values
-- reads   __dictionary__   the dictionary of a release
-- gives   column_name, text, bound   rows in no order; bound tells whether it is one
SELECT
  "column" AS column_name,
  released_value AS text,
  false AS bound
FROM __dictionary__
WHERE level = 0
  -- where levels mix, such a value tells its level; what it is stands in its leaves
  AND COALESCE(LEN(leaves), 0) = 0
UNION ALL
SELECT
  "column" AS column_name,
  UNNEST(leaves) AS text,
  false AS bound
FROM __dictionary__
UNION ALL
SELECT
  "column" AS column_name,
  UNNEST([lower, upper]) AS text,
  true AS bound
FROM __dictionary__
