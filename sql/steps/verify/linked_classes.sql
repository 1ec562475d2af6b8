-- verify/linked_classes: how many subjects share a whole set of classes, at least
-- reads   __rel__    one row per record        __qi__ quasi-identifiers, __subject__ whose it is
-- gives   subjects   one row; NULL for an empty table
SELECT min(subjects) AS subjects
FROM (
  SELECT count(*) AS subjects
  FROM (
    SELECT list(DISTINCT row(__qi__) ORDER BY row(__qi__)) AS classes
    FROM __rel__
    WHERE __subject__ IS NOT NULL
    GROUP BY __subject__
  )
  GROUP BY classes
)
