-- verify/policy_risk: what the risk measures of policies add up over the classes of a table
-- reads   __classes__   one row per class: class_size, in records, and people, who fit it
-- gives   population    the sum over the records of the chance to be found among the people; infinite where nobody fits
--         uniques       records that only one person fits
SELECT
  sum(CASE WHEN people = 0 THEN CAST('Infinity' AS DOUBLE) ELSE class_size / people END) AS population,
  CAST(sum(CASE WHEN people = 1 THEN class_size ELSE 0 END) AS DOUBLE) AS uniques
FROM __classes__
