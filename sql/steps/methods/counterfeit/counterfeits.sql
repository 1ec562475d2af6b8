-- methods/counterfeit/counterfeits: the counterfeit records
-- reads   __placed__     place, class_id, code: what is to be made
--         __members__    class_id, code, __key__, __value__: the records; a class is told by its keys
--         __pool__       class_id: the classes that values are copied from
--         __secret__     key: one row, what all draws depend on
-- gives   class_id, __key__ of the class; code, __value__ of a real record with the drawn sensitive
--         value, taken together                    one row a counterfeit record
WITH donors AS (
  SELECT
    members.code,
    __value__,
    row_number() OVER (
      PARTITION BY members.code
      ORDER BY members.class_id, __value__
    ) - 1 AS number,
    count(*) OVER (PARTITION BY members.code) AS total
  FROM __members__ AS members
  SEMI JOIN __pool__ AS pool
    ON pool.class_id = members.class_id
), classes AS (
  SELECT DISTINCT class_id, __key__
  FROM __members__
), drawn AS (
  SELECT
    placed.class_id,
    placed.code,
    hash(sha256(concat_ws('|', key, 'donor', placed.place))) AS draw
  FROM __placed__ AS placed
  CROSS JOIN __secret__
)
SELECT
  classes.class_id,
  classes.__key__,
  donors.code,
  donors.__value__
FROM drawn
JOIN classes
  ON classes.class_id = drawn.class_id
JOIN donors
  ON donors.code = drawn.code
  AND donors.number = drawn.draw % donors.total
