-- methods/common/linked_subjects: who stays when a released pseudonym links the rows of each subject
-- reads   __members__   one row per class and subject: class, subject, blank (whether the class
--                       has a NULL that excludes it); rows may repeat
--         $k            subjects that must share a whole set of classes
-- gives   subject       one row for each who stays
SELECT subject
FROM (
  SELECT subject, blank, count(*) OVER (PARTITION BY classes) AS alike
  FROM (
    SELECT subject, list(DISTINCT class ORDER BY class) AS classes, bool_or(blank) AS blank
    FROM __members__
    GROUP BY subject
  )
)
WHERE alike >= $k AND NOT blank
