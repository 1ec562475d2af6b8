-- methods/counterfeit/members: the generalized records, each with the number of its class
-- reads   __real__   __key__ the generalized quasi-identifiers, code of the sensitive value, others
-- gives   all that, and class_id: the dense rank of the quasi-identifiers     one row a record
SELECT
  *,
  dense_rank() OVER (ORDER BY __key__ ASC NULLS LAST) AS class_id
FROM __real__
