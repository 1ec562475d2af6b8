-- publish/catalog: how many records of each sensitive value are counterfeit, in groups of classes
-- reads   __placed__    class_id, code: the counterfeit records
--         __groups__    class_id, grp: which classes are told of together
--         __values__    code, value: what the codes stand for
-- gives   class_ids, sensitive_value, counterfeits      one row for each value of a group
SELECT
  listed.class_ids,
  counted.sensitive_value,
  counted.counterfeits
FROM (
  SELECT
    own.grp,
    CAST(known.value AS VARCHAR) AS sensitive_value,
    count(*) AS counterfeits
  FROM __placed__ AS placed
  JOIN __groups__ AS own
    ON own.class_id = placed.class_id
  JOIN __values__ AS known
    ON known.code = placed.code
  GROUP BY ALL
) AS counted
JOIN (
  SELECT grp, list(class_id ORDER BY class_id) AS class_ids
  FROM __groups__
  GROUP BY grp
) AS listed
  ON listed.grp = counted.grp
ORDER BY ALL
