-- review/lonely_values: how many numbers of a column lie so far out that what is drawn near one tells of it
-- reads   __cells__    value: a number
--         $few         the few that are held against the others
-- gives   lonely: those farther from the $few-th least or greatest than a quarter of what lies
--         between these two                                                                 one row
WITH ordered AS (
  SELECT value, row_number() OVER (ORDER BY value) AS place, count(*) OVER () AS number
  FROM __cells__
  WHERE NOT value IS NULL
), ends AS (
  SELECT
    min(value) FILTER (WHERE place > $few) AS low,
    max(value) FILTER (WHERE place <= number - $few) AS high
  FROM ordered
)
SELECT count(*) AS lonely
FROM ordered
CROSS JOIN ends
WHERE
  high > low
  AND (value < low - (high - low) / 4 OR value > high + (high - low) / 4)
