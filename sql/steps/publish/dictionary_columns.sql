-- publish/dictionary_columns: the columns that a dictionary explains
-- reads   __dictionary__   the dictionary of a release
-- gives   column_name      one row a column
--         plain            whether every value that is released of it stands for itself
SELECT
  "column" AS column_name,
  BOOL_AND(
    level = 0
    AND (COALESCE(LEN(leaves), 0) = 0 OR leaves = [released_value])
  ) AS plain
FROM __dictionary__
WHERE released_value IS NOT NULL
GROUP BY "column"
