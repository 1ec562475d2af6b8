-- utility/fidelity/shares_by_value: how source and release are shared out among the values of columns
-- reads   __source__, __released__   number (the column's), value, mass: NULL is a value; a value may have
--                                    several rows
--         $most                      how many values are told of each; the others are pooled
--         $few                       and those of fewer records of the source
-- gives   number, value, place (from 1; 0 for the pooled ones), source and released: shares of all mass, members
--         (values in the row)
WITH pieces AS (
  SELECT number, value, mass, 1 AS side FROM __source__
  UNION ALL
  SELECT number, value, mass, 0 AS side FROM __released__
), totals AS (
  SELECT number, side, sum(mass ORDER BY mass) AS total FROM pieces GROUP BY number, side
), both_sides AS (
  SELECT
    pieces.number,
    value,
    coalesce(sum(mass ORDER BY mass) FILTER (WHERE pieces.side = 1), 0) AS records,
    coalesce(sum(mass / total ORDER BY mass) FILTER (WHERE pieces.side = 1), 0) AS source,
    coalesce(sum(mass / total ORDER BY mass) FILTER (WHERE pieces.side = 0), 0) AS released
  FROM pieces
  JOIN totals ON pieces.number = totals.number AND pieces.side = totals.side AND totals.total > 0
  GROUP BY pieces.number, value
), placed AS (
  SELECT
    *,
    value IS NULL OR records >= $few AS known,
    row_number() OVER (PARTITION BY number ORDER BY source DESC, released DESC, value NULLS LAST) AS place
  FROM both_sides
)
SELECT
  number,
  any_value(CASE WHEN known AND place <= $most THEN value END) AS value,
  CASE WHEN known AND place <= $most THEN place ELSE 0 END AS shown_place,
  sum(source ORDER BY source) AS source,
  sum(released ORDER BY released) AS released,
  count(*) AS members
FROM placed
GROUP BY number, shown_place
ORDER BY number, shown_place = 0, shown_place
