-- privacy/risk/items_held: which record of which class holds which item, each once
-- reads   __rel__   one row per record        __qi__   its quasi-identifiers
--         __items__   the column of lists; a NULL, in a list or for one, is no item
-- gives   class and record (numbered from 1), item (numbered from 1)     one row per item held
SELECT DISTINCT
  held.class,
  held.record,
  dense_rank() OVER (ORDER BY held.item) AS item
FROM (
  SELECT
    dense_rank() OVER (ORDER BY __qi__) AS class,
    row_number() OVER () AS record,
    unnest(__items__) AS item
  FROM __rel__
) AS held
WHERE held.item IS NOT NULL
ORDER BY held.class, held.record, item
