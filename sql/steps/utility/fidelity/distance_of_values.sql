-- utility/fidelity/distance_of_values: total variation of two distributions over the values of each column
-- reads   __source__, __released__   number of the column, value, mass: NULL is a value, and a value
--                                    may have several rows
-- gives   number, distance from 0 to 1          one row per column of the source
WITH counted AS (
  SELECT number, value, 1 AS side, mass FROM __source__
  UNION ALL
  SELECT number, value, -1 AS side, mass FROM __released__
), summed AS (
  -- added in one order, so that a sum is the same in every run
  SELECT
    number,
    value,
    coalesce(sum(mass ORDER BY mass) FILTER (WHERE side = 1), 0) AS source,
    coalesce(sum(mass ORDER BY mass) FILTER (WHERE side = -1), 0) AS released
  FROM counted
  GROUP BY number, value
), totals AS (
  SELECT
    number,
    sum(source ORDER BY source) AS source,
    sum(released ORDER BY released) AS released
  FROM summed
  GROUP BY number
), differences AS (
  SELECT
    number,
    -- a column of which nothing is released has nothing left
    totals.released > 0 AS known,
    abs(summed.source / totals.source - summed.released / totals.released) AS difference
  FROM summed
  JOIN totals USING (number)
)
SELECT
  number,
  CASE WHEN any_value(known) THEN sum(difference ORDER BY difference) / 2 ELSE 1 END AS distance
FROM differences
GROUP BY number
