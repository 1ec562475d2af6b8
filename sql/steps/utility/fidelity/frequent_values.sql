-- utility/fidelity/frequent_values: the most frequent values of a column, numbered from 0
-- reads   __rel__   one row per record: value, a text; NULL is left out
--         $most     how many
-- gives   value, level
SELECT value, row_number() OVER (ORDER BY count(*) DESC, value) - 1 AS level
FROM __rel__
WHERE value IS NOT NULL
GROUP BY value
QUALIFY level < $most
