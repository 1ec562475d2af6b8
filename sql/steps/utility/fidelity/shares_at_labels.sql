-- utility/fidelity/shares_at_labels: how source and release are shared out among the labels of a release
-- reads   __source__     point (a number) or text, mass: how often each value occurs
--         __released__   label, mass: how many records show a label; a label may have several rows
--         __pieces__     label, low, high, leaf: what it stands for; of a missing value all are NULL
-- gives   label, place (NULL for what no label stands for), start (its least number), source, released: shares
--         of all mass, records (of the source); no row where one value of the source fits two labels
WITH shown AS (
  SELECT label, sum(mass ORDER BY mass) AS mass, row_number() OVER (ORDER BY label NULLS LAST) AS place
  FROM __released__
  GROUP BY label
), meant AS (
  SELECT DISTINCT shown.place, pieces.low, pieces.high, pieces.leaf
  FROM shown
  JOIN __pieces__ AS pieces ON shown.label IS NOT DISTINCT FROM pieces.label
), ranges AS (
  -- what touches is one range: a label of thirty years stands for eleven thousand days
  SELECT place, min(low) AS low, max(high) AS high
  FROM (
    SELECT place, low, high, count(*) FILTER (WHERE begins) OVER upto AS island
    FROM (
      SELECT
        place,
        low,
        high,
        coalesce(low > max(high) OVER (upto ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), TRUE) AS begins
      FROM meant
      WHERE low < high
      WINDOW upto AS (PARTITION BY place ORDER BY low, high)
    ) AS told
    WINDOW upto AS (PARTITION BY place ORDER BY low, high)
  ) AS islands
  GROUP BY place, island
), given AS (
  SELECT *, row_number() OVER (ORDER BY point, text) AS number FROM __source__
), fits AS (
  -- ends and ranges are looked up apart: of both in one condition, DuckDB tries every pair
  SELECT given.number, meant.place
  FROM given
  JOIN meant ON given.point = meant.low
  UNION
  SELECT given.number, ranges.place
  FROM given
  JOIN ranges ON given.point > ranges.low AND given.point < ranges.high
  UNION
  SELECT given.number, meant.place
  FROM given
  JOIN meant ON given.text IS NOT DISTINCT FROM meant.leaf
  WHERE given.point IS NULL AND meant.low IS NULL
), placed AS (
  SELECT place, mass AS records, mass / (SELECT sum(mass ORDER BY mass) FROM given) AS source, 0 AS released
  FROM given
  LEFT JOIN fits ON given.number = fits.number
  UNION ALL
  SELECT place, 0, 0, mass / (SELECT sum(mass ORDER BY mass) FROM shown) FROM shown
)
SELECT
  any_value(shown.label) AS label,
  placed.place,
  any_value(starts.start) AS start,
  sum(source ORDER BY source) AS source,
  sum(released ORDER BY released) AS released,
  sum(records ORDER BY records) AS records
FROM placed
LEFT JOIN shown ON placed.place = shown.place
LEFT JOIN (SELECT place, min(low) AS start FROM meant GROUP BY place) AS starts ON placed.place = starts.place
WHERE NOT EXISTS (SELECT number FROM fits GROUP BY number HAVING count(*) > 1)
GROUP BY placed.place
ORDER BY placed.place NULLS LAST
