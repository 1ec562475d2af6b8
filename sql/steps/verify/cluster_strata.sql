-- verify/cluster_strata: clusters of one combination of values, and what was drawn from them
-- reads   __cells__    cluster, side (source or released), __cell__ columns
-- gives   mixed: clusters whose records of the source have several combinations
--         changed: others with a released record of another one                            one row
WITH combinations AS (
  SELECT DISTINCT cluster, side, __cell__
  FROM __cells__
), clusters AS (
  SELECT
    cluster,
    count(*) FILTER (WHERE side = 'source') AS of_source,
    count(*) FILTER (WHERE side = 'released') AS released,
    count(DISTINCT ROW(__cell__)) AS held
  FROM combinations
  GROUP BY cluster
)
SELECT
  count(*) FILTER (WHERE of_source <> 1) AS mixed,
  count(*) FILTER (WHERE of_source = 1 AND (released <> 1 OR held <> 1)) AS changed
FROM clusters
