-- review/singled_out: people whom some columns tell apart: nobody else shares all of their values there
-- reads   __rel__    one row per record, with the number of its __subject__        __cols__ the columns
-- gives   people     with such a record   one row
SELECT count(DISTINCT person) AS people
FROM (
  SELECT min(__subject__) AS person
  FROM __rel__
  GROUP BY __cols__
  HAVING min(__subject__) = max(__subject__)
)
