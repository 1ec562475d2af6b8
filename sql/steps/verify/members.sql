-- verify/members: which classes a catalog puts into which group
-- reads   __listed__    grp, class_ids
--         __suspects__  class: the classes that could have been padded
-- gives   grp, class, candidate                     one row per group and class, repeated as listed
SELECT grp, class, class IN (SELECT class FROM __suspects__) AS candidate
FROM (
  SELECT grp, unnest(class_ids) AS class
  FROM (
    SELECT grp, any_value(class_ids) AS class_ids
    FROM __listed__
    GROUP BY grp
  )
)
