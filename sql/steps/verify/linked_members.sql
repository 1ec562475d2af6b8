-- verify/linked_members: the classes as they look to one who can link the records of each subject
-- reads   __rows__     one row per record: class, pseudonym, __value__
--         __people__   one row per pseudonym and subject of the source: __pseudonym__, subject
-- gives   class (the set of classes of its subject, and the class), subject, __value__
--                      one row per record of exactly one subject
WITH owners AS (
  SELECT __pseudonym__ AS pseudonym, any_value(subject) AS subject
  FROM __people__
  GROUP BY __pseudonym__
  HAVING count(DISTINCT subject) = 1
),
owned AS (
  SELECT written.class, owners.subject, __value__
  FROM __rows__ AS written
  JOIN owners
    ON owners.pseudonym = written.pseudonym
),
sets AS (
  SELECT subject, list(DISTINCT class ORDER BY class) AS classes
  FROM owned
  GROUP BY subject
),
numbered AS (
  SELECT classes, row_number() OVER () AS number
  FROM sets
  GROUP BY classes
)
SELECT row(numbered.number, owned.class) AS class, owned.subject, __value__
FROM owned
JOIN sets
  ON sets.subject = owned.subject
JOIN numbered
  ON numbered.classes = sets.classes
