-- utility/fidelity/privacy_bins: numbers by value where there are few, else by bins of one width
-- reads   __cells__    cluster, side, records, value: a number
--         $few         up to so many values are taken as they are      $bins  else so many bins
-- gives   cluster, side, records, value; width of a bin, or 1                     one row per row
-- The bounds are no constants of the statement: a log of statements would quote them.
WITH bounds AS (
  SELECT
    count(DISTINCT value) <= $few AS by_value,
    min(value) AS lowest,
    (max(value) - min(value)) / $bins AS width
  FROM __cells__
)
SELECT
  cells.cluster,
  cells.side,
  cells.records,
  CASE
    WHEN bounds.by_value THEN cells.value
    WHEN NOT cells.value IS NULL
      THEN least(floor((cells.value - bounds.lowest) / bounds.width), $bins - 1)
  END AS value,
  CASE WHEN bounds.by_value THEN 1 ELSE bounds.width END AS width
FROM __cells__ AS cells
CROSS JOIN bounds
