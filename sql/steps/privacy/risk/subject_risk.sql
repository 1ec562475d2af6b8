-- privacy/risk/subject_risk: how exposed the subjects of a table are by their smallest classes
-- reads   __members__   one row per subject and class: subject, class_size, NULL where there is none
-- gives   subjects, average_risk               one row; the mean over the subjects that have a class
SELECT
  count(*) AS subjects,
  avg(1 / smallest) AS average_risk
FROM (
  SELECT min(class_size) AS smallest
  FROM __members__
  GROUP BY subject
) AS people
