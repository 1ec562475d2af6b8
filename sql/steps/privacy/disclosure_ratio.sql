-- privacy/disclosure_ratio: by which factor a value is at most commoner, or rarer, in a class
-- reads   __shares__   one row per class and value: class, size, count, known, people, domain
-- gives   ratio        one row; infinite where a class lacks a value of the source, NULL for an
--                      empty table
SELECT max(CASE WHEN present < domain THEN CAST('Infinity' AS DOUBLE) ELSE ratio END) AS ratio
FROM (
  SELECT
    count(*) AS present,
    any_value(domain) AS domain,
    -- one division, so that equal numbers stay equal
    max(greatest(count * people, known * size) / least(count * people, known * size)) AS ratio
  FROM __shares__
  GROUP BY class
)
