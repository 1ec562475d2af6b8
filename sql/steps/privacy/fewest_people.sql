-- privacy/fewest_people: the smallest number of people of a population who fit a released class
-- reads   __classes__   one row per released class: people
-- gives   people        one row; NULL for an empty table
SELECT CAST(min(people) AS BIGINT) AS people
FROM __classes__
