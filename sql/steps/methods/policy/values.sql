-- methods/policy/values: how many records have each value of an attribute
-- reads   __cells__   __code__, records       $attribute  its number
-- gives   attribute, code, records                                                one row a value
SELECT
  $attribute AS attribute,
  __code__ AS code,
  sum(records) AS records
FROM __cells__
GROUP BY __code__
