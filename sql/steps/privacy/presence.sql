-- privacy/presence: which share of the people who fit a released class is in it
-- reads   __classes__        one row per released class: class_size, people
-- gives   least, greatest    one row; infinite where nobody fits a class, NULL for an empty table
SELECT min(share) AS least, max(share) AS greatest
FROM (
  SELECT
    CASE WHEN people = 0 THEN CAST('Infinity' AS DOUBLE) ELSE class_size / people END AS share
  FROM __classes__
)
