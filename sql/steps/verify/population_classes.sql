-- verify/population_classes: how many people of a population fit each released class
-- reads   __classes__   one row per released class: __key__, class_size
--         __people__    the population generalized as the release is: __key__, people
-- gives   class_size, people   one row per released class; nobody may fit it
WITH both_sides AS (
  SELECT __key__, class_size, 0 AS people
  FROM __classes__
  UNION ALL
  SELECT __key__, NULL AS class_size, people
  FROM __people__
)
SELECT any_value(class_size) AS class_size, sum(people) AS people
FROM both_sides
GROUP BY __key__
HAVING count(class_size) > 0
