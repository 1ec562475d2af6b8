-- methods/local_recoding/dealing_classes: the records without a block by class, where that is large enough for a block
-- reads   __members__   unit, value, place, records, __groups__ on the levels of a transformation
--         $least        records of the smallest blocks
-- gives   class, in the order of the groups, unit, value, place, records         one row a unit
WITH members AS (
  SELECT *
  FROM __members__ AS members
), classes AS (
  SELECT
    __groups__,
    row_number() OVER (ORDER BY __groups__ ASC) AS class
  FROM members
  GROUP BY __groups__
  HAVING sum(records) >= $least
)
SELECT
  class,
  unit,
  value,
  place,
  records
FROM members
-- the groups are all that the two have in common
NATURAL JOIN classes
