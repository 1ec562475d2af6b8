-- privacy/enhanced_beta: the least β for which a table is enhanced β-like
-- reads   __shares__   one row per class and value: size, count, known, people
--         $close       how much a gain may exceed -ln q by rounding
-- gives   beta         one row; infinite where a value gains more than -ln q, which no β allows,
--                      NULL for an empty table
SELECT
  max(
    CASE
      WHEN gain > 0 AND gain > -ln(q) + $close THEN CAST('Infinity' AS DOUBLE)
      ELSE gain
    END
  ) AS beta
FROM (
  SELECT
    known / people AS q,
    (count * people - known * size) / (known * size) AS gain
  FROM __shares__
)
