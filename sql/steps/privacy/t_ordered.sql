-- privacy/t_ordered: the greatest distance of a class's distribution to the source's, values in a row
-- reads   __shares__   one row per class and value: class, count, pairs, place, domain
--         __whole__    one row per value of the source: place, known
-- gives   t            one row; NULL for an empty table
--
-- Along a row the cheapest way to move earth keeps its order: of the class and of the source the
-- share u of all earth that lies lowest belong together, whatever u is. In the class a value holds
-- a piece [low, high] of these shares, and each part of it moves to the place it has in the source;
-- `moment` at u is the integral of that place up to u.
WITH source AS (
  SELECT
    place,
    (sum(known) OVER upwards - known) / sum(known) OVER () AS low,
    (sum(known * place) OVER upwards - known * place) / sum(known) OVER () AS moment
  FROM __whole__
  WINDOW upwards AS (ORDER BY place)
),
tops AS (
  SELECT
    class,
    place,
    domain,
    sum(count) OVER (PARTITION BY class ORDER BY place) / pairs AS high
  FROM __shares__
),
pieces AS (
  SELECT
    tops.class,
    tops.place,
    tops.domain,
    tops.high,
    source.moment + source.place * (tops.high - source.low) AS high_moment,
    lag(tops.high, 1, 0) OVER (PARTITION BY tops.class ORDER BY tops.place) AS low
  FROM tops
  ASOF JOIN source
    ON tops.high >= source.low
),
parted AS (
  SELECT
    pieces.*,
    lag(high_moment, 1, 0) OVER (PARTITION BY pieces.class ORDER BY pieces.place) AS low_moment,
    -- what lies below the value's own place in the source moves down, the rest up
    CASE
      WHEN own.low <= pieces.low THEN pieces.low
      WHEN own.low >= pieces.high THEN pieces.high
      ELSE own.low
    END AS parting,
    CASE
      WHEN own.low <= pieces.low THEN lag(high_moment, 1, 0) OVER (PARTITION BY pieces.class ORDER BY pieces.place)
      WHEN own.low >= pieces.high THEN high_moment
      ELSE own.moment
    END AS parting_moment
  FROM pieces
  JOIN source AS own
    ON own.place = pieces.place
)
SELECT max(distance) AS t
FROM (
  SELECT
    sum(
      place * (2 * parting - low - high) - 2 * parting_moment + low_moment + high_moment
    ) / greatest(any_value(domain) - 1, 1) AS distance
  FROM parted
  GROUP BY class
)
