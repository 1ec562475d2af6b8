-- utility/fidelity/distance_of_numbers: earth mover's distance of two distributions of each column, over its range
-- reads   __source__, __released__   number of the column; whole, whether its values are whole
--                                    numbers, v reaching from v to v + 1; low, high, mass: spread
--                                    evenly between them, or at one point. low is NULL: missing
-- gives   number, distance from 0 to 1          one row per column of the source
-- It is the area between the two distribution functions. Between two places where a piece begins or
-- ends their difference is a straight line, so that the area is exact. What is missing is as far
-- from every number as the range of the source reaches.
WITH pieces AS MATERIALIZED (
  SELECT number, whole, low, high, 1 AS side, mass FROM __source__
  UNION ALL
  SELECT number, whole, low, high, -1 AS side, mass FROM __released__
), summed AS MATERIALIZED (
  -- added in one order, so that a sum is the same in every run
  SELECT
    number,
    whole,
    low,
    high,
    coalesce(sum(mass ORDER BY mass) FILTER (WHERE side = 1), 0) AS source,
    coalesce(sum(mass ORDER BY mass) FILTER (WHERE side = -1), 0) AS released
  FROM pieces
  GROUP BY number, whole, low, high
), totals AS MATERIALIZED (
  SELECT
    number,
    sum(source ORDER BY source) AS source,
    sum(released ORDER BY released) AS released,
    coalesce(sum(source ORDER BY source) FILTER (WHERE low IS NOT NULL), 0) AS known_source,
    coalesce(sum(released ORDER BY released) FILTER (WHERE low IS NOT NULL), 0) AS known_released,
    max(low) FILTER (WHERE source > 0) - min(low) FILTER (WHERE source > 0) AS width
  FROM summed
  GROUP BY number
), moved AS (
  SELECT
    summed.number,
    whole,
    low,
    high,
    summed.source / known_source - summed.released / known_released AS mass
  FROM summed
  JOIN totals USING (number)
  WHERE low IS NOT NULL
), places AS (
  SELECT
    number,
    whole,
    place,
    fsum(jump ORDER BY jump) AS jump,
    fsum(slope ORDER BY slope) AS slope
  FROM (
    SELECT number, whole, low AS place, mass AS jump, 0.0::DOUBLE AS slope
    FROM moved
    WHERE low = high
    UNION ALL
    SELECT number, whole, low, 0.0, mass / (high - low) FROM moved WHERE low < high
    UNION ALL
    SELECT number, whole, high, 0.0, -mass / (high - low) FROM moved WHERE low < high
  ) AS events
  GROUP BY number, whole, place
), lines AS (
  SELECT
    number,
    whole,
    place,
    jump,
    fsum(slope) OVER upto AS slope,
    lead(place) OVER upto - place AS reach
  FROM places
  WINDOW upto AS (PARTITION BY number ORDER BY place)
), ends AS (
  SELECT
    number,
    whole,
    slope,
    reach,
    fsum(jump) OVER (PARTITION BY number ORDER BY place)
    + coalesce(
      fsum(slope * reach) OVER (
        PARTITION BY number ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ),
      0
    ) AS start
  FROM lines
), crossed AS (
  SELECT
    *,
    start + slope * reach AS stop,
    CASE WHEN slope <> 0 THEN least(floor(-start / slope), reach - 1) END AS crossing
  FROM ends
  WHERE reach > 0
), areas AS (
  SELECT
    number,
    CASE
      WHEN start * stop >= 0 THEN reach * abs(start + stop) / 2
      WHEN whole THEN
        -- steps at whole numbers: of the one in which the line crosses 0 both ends count
        crossing * abs(start + slope * crossing / 2)
        + (abs(start + slope * crossing) + abs(start + slope * (crossing + 1))) / 2
        + (reach - crossing - 1) * abs(start + slope * (crossing + 1 + reach) / 2)
      ELSE (start * start + stop * stop) / (2 * abs(slope))
    END AS area
  FROM crossed
), whole_areas AS (
  SELECT number, sum(area ORDER BY area) AS area FROM areas GROUP BY number
)
SELECT
  number,
  CASE
    -- a column of which nothing is released has nothing left
    WHEN totals.released = 0 THEN 1
    ELSE
      CASE
        WHEN coalesce(area, 0) = 0 THEN 0
        -- a column of one value: nothing moved but rounding errors, or all of it did
        WHEN totals.width = 0 THEN CASE WHEN area > 1e-9 THEN 1 ELSE 0 END
        ELSE least(area / totals.width, 1)
      END * least(known_source / totals.source, known_released / totals.released)
      + abs(known_source / totals.source - known_released / totals.released)
  END AS distance
FROM totals
LEFT JOIN whole_areas USING (number)
