-- query/count: how many records of each group there are
-- reads   __items__   as query_items gives them
-- gives   __key__, estimate, lower, upper; mass, the expected number of records
SELECT
  __key__,
  LEAST(GREATEST(mass, lower), upper) AS estimate,
  lower,
  upper,
  mass
FROM (
  SELECT
    __key__,
    CAST(SUM(CASE WHEN certain THEN records ELSE 0 END) AS BIGINT) AS lower,
    CAST(SUM(records) AS BIGINT) AS upper,
    SUM(records * mass) AS mass
  FROM __items__
  GROUP BY __key__
) AS counted
