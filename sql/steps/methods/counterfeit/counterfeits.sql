-- methods/counterfeit/counterfeits: the counterfeit records
-- reads   __placed__     place, class_id, code, donor: what is to be made
--         __members__    class_id, __key__: the records; a class is told by its keys
--         __donors__     code, __value__, number: the records that may be copied
-- gives   class_id, __key__ of the class; code, __value__ of a real record with the drawn sensitive
--         value, taken together                    one row a counterfeit record
WITH classes AS (
  SELECT DISTINCT class_id, __key__
  FROM __members__
)
SELECT
  classes.class_id,
  classes.__key__,
  donors.code,
  donors.__value__
FROM __placed__ AS placed
JOIN classes
  ON classes.class_id = placed.class_id
JOIN __donors__ AS donors
  ON donors.code = placed.code
  AND donors.number = placed.donor
