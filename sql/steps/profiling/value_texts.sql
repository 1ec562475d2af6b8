-- profiling/value_texts: some different values of columns that are no numbers, taken by their hash
-- reads   __rel__   values of some columns: place, value as text, whether it is a placeholder
--         $most     values of a column, at most
-- gives   place, texts   one row a column that has any
SELECT
  place,
  list(value ORDER BY hash(value)) AS texts
FROM (
  SELECT
    place,
    value
  FROM __rel__
  WHERE NOT placeholder AND try_cast(value AS DOUBLE) IS NULL
  QUALIFY row_number() OVER (PARTITION BY place ORDER BY hash(value)) <= $most
)
GROUP BY place
