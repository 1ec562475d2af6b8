-- utility/kl_divergence: how far the source is from a release whose classes are spread evenly, in nats
-- reads   __tuples__    records: of each distinct tuple of the source
--         __classes__   records, size: the classes of a release and the tuples that each stands for
--         $rows         records of the source      $domain  tuples of the whole domain
-- gives   kl_divergence; the removed records are one class of the whole domain             one row
WITH source AS (
  SELECT sum(alike * records * ln(records) ORDER BY records) AS nats
  FROM (SELECT records, count(*) AS alike FROM __tuples__ AS tuples GROUP BY records) AS counted
), released AS (
  SELECT
    coalesce(sum(records * ln(size / records) ORDER BY records, size), 0) AS nats,
    $rows - coalesce(sum(records), 0) AS removed
  FROM __classes__
)
SELECT
  (
    source.nats
    + released.nats
    + CASE WHEN removed > 0 THEN removed * ln($domain / removed) ELSE 0 END
  ) / $rows AS kl_divergence
FROM source
CROSS JOIN released
