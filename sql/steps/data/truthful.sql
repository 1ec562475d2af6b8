-- data/truthful: a release with as many rows as real records, of which each is true
-- reads   __release__   the release: class_id, the other __columns__, one of them __sensitive__
--         __catalog__   class_ids, sensitive_value, counterfeits: a row for each value of a group of
--                       classes, in which so many of the records with it are counterfeit
-- gives   the columns of the release; where a value of a group has counterfeits, only as many rows
--         with it as are real, and all else in them NULL         one row a real record
SELECT released.__columns__
FROM __release__ AS released
LEFT JOIN (
  -- groups share no class, so the smallest id tells them apart; each value of one lists its
  -- classes, which are taken from it once
  SELECT first_id, unnest(class_ids) AS class_id
  FROM (
    SELECT list_min(class_ids) AS first_id, any_value(class_ids) AS class_ids
    FROM __catalog__
    GROUP BY list_min(class_ids)
  ) AS once
) AS grouped
  ON grouped.class_id = released.class_id
ANTI JOIN (
  SELECT list_min(class_ids) AS first_id, sensitive_value
  FROM __catalog__
) AS listed
  ON listed.first_id = grouped.first_id
  AND listed.sensitive_value IS NOT DISTINCT FROM CAST(released.__sensitive__ AS VARCHAR)
UNION ALL BY NAME
-- which of a value's records are left out is one: nothing else of them is told
SELECT CAST(NULL AS BIGINT) AS class_id, doubtful.__told__
FROM __release__ AS doubtful
JOIN (
  SELECT first_id, unnest(class_ids) AS class_id
  FROM (
    SELECT list_min(class_ids) AS first_id, any_value(class_ids) AS class_ids
    FROM __catalog__
    GROUP BY list_min(class_ids)
  ) AS once
) AS grouped
  ON grouped.class_id = doubtful.class_id
JOIN (
  SELECT list_min(class_ids) AS first_id, sensitive_value, counterfeits
  FROM __catalog__
) AS listed
  ON listed.first_id = grouped.first_id
  AND listed.sensitive_value IS NOT DISTINCT FROM CAST(doubtful.__sensitive__ AS VARCHAR)
QUALIFY
  row_number() OVER (PARTITION BY listed.first_id, listed.sensitive_value) > listed.counterfeits
