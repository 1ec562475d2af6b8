-- evaluation/singled_people: people of whom a record has values, in the given columns, that no record of
--                 anybody else has
-- reads   __rel__    one row per record        __cols__ the columns
--                                              __subject__ whose record it is
-- gives   people     one row; NULL is a value of its own
SELECT count(DISTINCT person) AS people
FROM (
  SELECT min(__subject__) AS person
  FROM __rel__
  GROUP BY __cols__
  HAVING min(__subject__) = max(__subject__)
)
