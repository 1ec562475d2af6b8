-- privacy/proximity: how many subjects a class has for each whose value is near to one of its values
-- reads   __held__    one row per class and value: class, size, value (a number), count, missing
--         $epsilon    distance up to which two numbers are near
--         $rounding   share of the greater number by which a distance may exceed that
-- gives   m           one row, the least of all classes and values; NULL for an empty table. It is
--                     the least of two readings: of all subjects, and of those who have a value
--                     and are near to it. A value that is no number is near to all
WITH numbered AS (
  SELECT
    class,
    size,
    count,
    missing,
    value IS NULL AS nothing,
    -- by its digits, for a short float is another number than the double that it is cast to
    try_cast(CAST(value AS VARCHAR) AS DOUBLE) AS number,
    -- at least so many have a value: who has one may also have a record without
    greatest(
      size - coalesce(sum(count) FILTER (WHERE missing) OVER of_class, 0),
      max(count) FILTER (WHERE NOT missing) OVER of_class
    ) AS known
  FROM __held__
  WINDOW of_class AS (PARTITION BY class)
),
measured AS (
  SELECT
    *,
    CASE WHEN isfinite(number) THEN number END AS place,
    CASE
      WHEN isfinite(number) THEN $epsilon + $rounding * (abs(number) + $epsilon)
      ELSE 0
    END AS width
  FROM numbered
),
near AS (
  SELECT
    CASE WHEN missing THEN size ELSE known END AS people,
    CASE
      WHEN nothing OR (number IS NOT NULL AND place IS NULL) THEN count
      WHEN number IS NULL THEN size
      ELSE sum(count) OVER (
        PARTITION BY class, place IS NULL
        ORDER BY place
        RANGE BETWEEN width PRECEDING AND width FOLLOWING
      )
    END AS near
  FROM measured
)
SELECT min(people / near) AS m
FROM near
