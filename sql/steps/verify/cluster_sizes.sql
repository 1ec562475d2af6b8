-- verify/cluster_sizes: how large the clusters are that synthetic records were drawn from
-- reads   __cells__    cluster, side (source or released), records: so many records of it
-- gives   clusters; smallest: records of the source in the smallest; uneven: clusters of which
--         another number is released                                                      one row
SELECT
  count(*) AS clusters,
  min(of_source) AS smallest,
  count(*) FILTER (WHERE of_source <> released) AS uneven
FROM (
  SELECT
    coalesce(sum(records) FILTER (WHERE side = 'source'), 0) AS of_source,
    coalesce(sum(records) FILTER (WHERE side = 'released'), 0) AS released
  FROM __cells__
  GROUP BY cluster
)
