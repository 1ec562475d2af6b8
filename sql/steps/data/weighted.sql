-- data/weighted: the records of a release and how probably each of them is real
-- reads   __release__   the release: class_id and, where a column is sensitive, __sensitive__
--         __catalog__   class_ids, sensitive_value, counterfeits: a row for each value of a group of
--                       classes, in which so many of the records with it are counterfeit
-- gives   the columns of the release and weight, 1 outside of the catalog         one row a record
SELECT
  released.*,
  coalesce((known.records - known.counterfeits) / known.records, 1) AS weight
FROM __release__ AS released
LEFT JOIN (
  SELECT
    counted.class_id,
    counted.sensitive_value,
    listed.counterfeits,
    sum(counted.records)
      OVER (PARTITION BY counted.first_id, counted.sensitive_value) AS records
  FROM (
    SELECT
      held.class_id,
      grouped.first_id,
      CAST(held.__sensitive__ AS VARCHAR) AS sensitive_value,
      count(*) AS records
    FROM __release__ AS held
    JOIN (
      -- groups share no class, so the smallest id tells them apart; each value of one lists its
      -- classes, which are taken from it once
      SELECT first_id, unnest(class_ids) AS class_id
      FROM (
        SELECT list_min(class_ids) AS first_id, any_value(class_ids) AS class_ids
        FROM __catalog__
        GROUP BY list_min(class_ids)
      ) AS once
    ) AS grouped
      ON grouped.class_id = held.class_id
    GROUP BY held.class_id, grouped.first_id, CAST(held.__sensitive__ AS VARCHAR)
  ) AS counted
  JOIN (
    SELECT list_min(class_ids) AS first_id, sensitive_value, counterfeits
    FROM __catalog__
  ) AS listed
    ON listed.first_id = counted.first_id
    AND listed.sensitive_value IS NOT DISTINCT FROM counted.sensitive_value
) AS known
  ON known.class_id = released.class_id
  AND known.sensitive_value IS NOT DISTINCT FROM CAST(released.__sensitive__ AS VARCHAR)
