-- rerelease/joint_values: people left with fewer values of a sensitive column than their class has, and than l
-- reads   __earlier__   one row per record that an earlier release shows: record, person, class
--         __shown__     the same of this one, with __value__, what the sensitive value means as
--                       text; NULL is no value
--         $l            distinct values that a class must have
-- gives   groups, people   one row; a group is a pair of classes that shows people in both releases
WITH joint AS (
  SELECT
    earlier.class AS before,
    shown.class AS now,
    __value__ AS value,
    shown.person AS person
  FROM __earlier__ AS earlier
  JOIN __shown__ AS shown
    ON shown.record = earlier.record
), own AS (
  SELECT
    class,
    count(DISTINCT __value__) AS found
  FROM __shown__
  GROUP BY class
)
SELECT
  count(*) AS groups,
  coalesce(sum(people), 0)::BIGINT AS people
FROM (
  SELECT
    now,
    count(DISTINCT value) AS found,
    count(DISTINCT person) AS people
  FROM joint
  GROUP BY before, now
) AS pairs
JOIN own
  ON own.class = pairs.now
WHERE pairs.found < least($l, own.found)
