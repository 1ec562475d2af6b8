-- methods/local_recoding/recoding_units: the records with the number of their unit: those alike in quasi-identifiers,
-- sensitive values and subject
-- reads   __records__   __key__ the codes of all these, and others
-- gives   all that, and unit: from 0 in the order of the codes                  one row a record
SELECT
  *,
  dense_rank() OVER (ORDER BY __key__ ASC) - 1 AS unit
FROM __records__
