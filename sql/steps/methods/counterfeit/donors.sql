-- methods/counterfeit/donors: the records, numbered where a counterfeit record may copy them
-- reads   __members__    class_id, code, __value__: the records
--         __pool__       class_id: the classes that values are copied from
-- gives   class_id, code, __value__, number: among the records of its sensitive value in the pool,
--         from 0; NULL of those that are not in it                        one row a record
SELECT
  members.class_id,
  members.code,
  __value__,
  CASE WHEN NOT pool.class_id IS NULL THEN row_number() OVER (
    PARTITION BY members.code, pool.class_id IS NULL
    ORDER BY members.class_id, __value__
  ) - 1 END AS number
FROM __members__ AS members
LEFT JOIN __pool__ AS pool
  ON pool.class_id = members.class_id
