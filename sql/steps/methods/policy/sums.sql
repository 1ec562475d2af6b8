-- methods/policy/sums: what measures of risk and loss add up over cells
-- reads   __cells__   place, intervals (of which these are the cells), records, people
-- gives   place, intervals, and a column a measure: the chance 1/g of each record, records that are
--         the only person of their cell, - n ln n, n², and cells        one row a run of intervals
SELECT
  place,
  intervals,
  sum(records / people) AS population,
  CAST(count(*) FILTER (WHERE people = 1) AS DOUBLE) AS uniques,
  -sum(records * ln(records)) AS kl,
  CAST(sum(records * records) AS DOUBLE) AS discernibility,
  CAST(count(*) AS DOUBLE) AS average_class_size
FROM __cells__
WHERE records > 0
GROUP BY place, intervals
