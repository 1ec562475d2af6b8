-- review/linked_counts: subjects whose numbers of records in their classes few others have
-- reads   __rel__    one row per record        __qi__ quasi-identifiers, __subject__ whose it is
--         $k         subjects that should share them
-- gives   subjects   one row
SELECT coalesce(sum(subjects), 0)::BIGINT AS subjects
FROM (
  SELECT count(*) AS subjects
  FROM (
    SELECT list({class: class, records: records} ORDER BY class) AS classes
    FROM (
      SELECT row(__qi__) AS class, __subject__ AS subject, count(*) AS records
      FROM __rel__
      GROUP BY ALL
    )
    GROUP BY subject
  )
  GROUP BY classes
)
WHERE subjects < $k
