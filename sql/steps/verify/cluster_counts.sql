-- verify/cluster_counts: clusters whose released records do not have the values of the original ones
-- reads   __cells__    cluster, side (source or released), records, __cell__ columns
-- gives   changed: clusters in which a value or combination occurs another number of times  one row
SELECT count(DISTINCT cluster) AS changed
FROM (
  SELECT cluster
  FROM __cells__
  GROUP BY cluster, __cell__
  HAVING sum(CASE side WHEN 'source' THEN records ELSE -records END) <> 0
)
