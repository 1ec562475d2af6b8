-- verify/order: how many rows stand before a row that should come first (ascending, NULLS LAST)
-- reads   __rel__    one row per record, in stored order        __columns__ all columns
-- gives   misplaced  one row
SELECT count(*) FILTER (WHERE this_row < row_before) AS misplaced
FROM (
  -- an empty window keeps the stored order; rows compare with NULLs last, as ORDER BY ALL does
  SELECT row(__columns__) AS this_row, lag(row(__columns__)) OVER () AS row_before
  FROM __rel__
)
