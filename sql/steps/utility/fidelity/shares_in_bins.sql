-- utility/fidelity/shares_in_bins: how the numbers of source and release are shared out among bins of one width
-- reads   __source__, __released__   number (the column's), whole (whether all of it are whole numbers), low, high,
--                                    mass: spread evenly from low to high, at one point where they are equal;
--                                    low is NULL where none is known
--         $most                      about how many bins there may be. They are 1, 2 or 5 times a power of ten
--                                    wide and start at its multiples, so that no end tells the least or greatest
--                                    value of the source; what lies beyond counts with the first or the last
-- gives   number, start, stop (of the bin; NULL for what is not known), source, released: shares of all mass
WITH pieces AS (
  SELECT number, whole, 1 AS side, low, high, mass FROM __source__
  UNION ALL
  SELECT number, whole, 0 AS side, low, high, mass FROM __released__
), totals AS (
  SELECT number, side, sum(mass ORDER BY mass) AS total FROM pieces GROUP BY number, side
), ends AS (
  SELECT number, any_value(whole) AS whole, min(low) AS low, max(high) - min(low) AS span
  FROM pieces
  WHERE side = 1
  GROUP BY number
), wanted AS (
  SELECT
    number,
    low,
    span,
    CASE WHEN span > 0 THEN greatest(span / $most, CASE WHEN whole THEN 1 ELSE 0 END) ELSE 1 END AS least
  FROM ends
  WHERE low IS NOT NULL
), tens AS (
  SELECT *, power(10, floor(log10(least) + 1e-9)) AS ten FROM wanted
), widths AS (
  SELECT
    number,
    low,
    span,
    ten * CASE
      WHEN least <= ten * 1.000001 THEN 1
      WHEN least <= 2 * ten THEN 2
      WHEN least <= 5 * ten THEN 5
      ELSE 10
    END AS width
  FROM tens
), shape AS (
  SELECT
    number,
    floor(low / width) AS first,
    greatest(ceil((low + span) / width - 1e-9), floor(low / width) + 1) AS past,
    width
  FROM widths
), bins AS (
  SELECT
    number,
    (first + nth) * width AS start,
    (first + nth + 1) * width AS stop,
    CASE WHEN nth = 0 THEN '-Infinity'::DOUBLE ELSE (first + nth) * width END AS reach,
    CASE WHEN first + nth = past - 1 THEN 'Infinity'::DOUBLE ELSE (first + nth + 1) * width END AS limit_of
  FROM shape, range($most + 2) AS places(nth)
  WHERE first + nth < past
), parts AS (
  SELECT
    bins.number,
    bins.start,
    bins.stop,
    pieces.side,
    CASE
      WHEN pieces.low = pieces.high THEN pieces.mass
      ELSE pieces.mass * (least(pieces.high, bins.limit_of) - greatest(pieces.low, bins.reach)) / (pieces.high - pieces.low)
    END AS mass
  FROM bins
  JOIN pieces ON bins.number = pieces.number AND pieces.low < bins.limit_of AND pieces.high >= bins.reach
  WHERE pieces.low = pieces.high OR (pieces.low < pieces.high AND pieces.high > bins.reach)
  UNION ALL
  -- a bin in which nothing lies is told, too
  SELECT number, start, stop, NULL, NULL FROM bins
  UNION ALL
  SELECT number, NULL, NULL, side, mass FROM pieces WHERE low IS NULL AND number IN (SELECT number FROM shape)
)
SELECT
  parts.number,
  parts.start,
  parts.stop,
  coalesce(sum(mass / total ORDER BY mass) FILTER (WHERE parts.side = 1 AND total > 0), 0) AS source,
  coalesce(sum(mass / total ORDER BY mass) FILTER (WHERE parts.side = 0 AND total > 0), 0) AS released
FROM parts
LEFT JOIN totals ON parts.number = totals.number AND parts.side = totals.side
GROUP BY parts.number, parts.start, parts.stop
ORDER BY parts.number, parts.start NULLS LAST
