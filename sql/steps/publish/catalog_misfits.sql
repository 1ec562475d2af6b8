-- publish/catalog_misfits: how many entries of a catalog cannot be about the values of one column
-- reads   __release__   the release: class_id and __sensitive__
--         __catalog__   class_ids, sensitive_value, counterfeits
-- gives   misfits       entries with more counterfeits than there are records with the value
SELECT
  COUNT(*) AS misfits
FROM (
  SELECT
    listed.number,
    ANY_VALUE(listed.counterfeits) AS counterfeits,
    COUNT(held.class_id) AS records
  FROM (
    SELECT
      number,
      UNNEST(class_ids) AS class_id,
      sensitive_value,
      counterfeits
    FROM (
      SELECT ROW_NUMBER() OVER () AS number, class_ids, sensitive_value, counterfeits
      FROM __catalog__
    ) AS numbered
  ) AS listed
  LEFT JOIN __release__ AS held
    ON held.class_id = listed.class_id
    AND CAST(held.__sensitive__ AS VARCHAR) IS NOT DISTINCT FROM listed.sensitive_value
  GROUP BY listed.number
) AS found
WHERE records < counterfeits
