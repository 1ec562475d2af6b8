-- evaluation/people_of_homogeneous_classes: people with a record in a class in which one sensitive value is
--                                that of every member
-- reads   __members__    one row per record: class, subject
--         __uniform__    one row per such class: class
-- gives   people         one row
SELECT count(DISTINCT members.subject) AS people
FROM __members__ AS members
JOIN __uniform__ AS uniform
  ON uniform.class = members.class
