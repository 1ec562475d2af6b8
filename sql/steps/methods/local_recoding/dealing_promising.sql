-- methods/local_recoding/dealing_promising: which of some transformations have a class that can give a block
-- reads   __members__    node, value, records, __groups__ on the levels of the transformation
--         __ways__       way, size, different: a block's least numbers of records and of values
--         __portions__   way, value, most: of a block's records
-- gives   node
-- What can give no block now can give none either once records of it have gone elsewhere.
SELECT DISTINCT node
FROM (
  SELECT entries.node
  FROM (
    SELECT
      node,
      __groups__,
      value,
      sum(records) AS records
    FROM __members__ AS members
    GROUP BY node, __groups__, value
  ) AS entries
  JOIN __portions__ AS portions
    ON portions.value = entries.value
  JOIN __ways__ AS ways
    ON ways.way = portions.way
  WHERE most > 0
  GROUP BY node, __groups__, ways.way
  HAVING sum(least(entries.records, most)) >= any_value(size) AND count(*) >= any_value(different)
) AS found
