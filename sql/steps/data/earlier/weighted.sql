-- data/earlier/weighted: the records of a release and how probably each of them is real
-- reads   __release__   the release: class_id and, where a column is sensitive, __sensitive__
--         __catalog__   class_ids, sensitive_value, counterfeits: a row for each value of a group of
--                       classes, in which so many of the records with it are counterfeit
-- gives   the columns of the release and weight, 1 outside of the catalog         one row a record
SELECT
  released.*,
  coalesce((known.records - known.counterfeits) / known.records, 1) AS weight
FROM __release__ AS released
LEFT JOIN (
  -- groups share no class, so the smallest id tells them apart
  SELECT
    listed.class_id,
    listed.sensitive_value,
    listed.counterfeits,
    sum(counted.records)
      OVER (PARTITION BY listed.first_id, listed.sensitive_value) AS records
  FROM (
    SELECT
      unnest(class_ids) AS class_id,
      list_min(class_ids) AS first_id,
      sensitive_value,
      counterfeits
    FROM __catalog__
  ) AS listed
  JOIN (
    SELECT
      held.class_id,
      CAST(held.__sensitive__ AS VARCHAR) AS sensitive_value,
      count(*) AS records
    FROM __release__ AS held
    GROUP BY held.class_id, CAST(held.__sensitive__ AS VARCHAR)
  ) AS counted
    ON counted.class_id = listed.class_id
    AND counted.sensitive_value IS NOT DISTINCT FROM listed.sensitive_value
) AS known
  ON known.class_id = released.class_id
  AND known.sensitive_value IS NOT DISTINCT FROM CAST(released.__sensitive__ AS VARCHAR)
