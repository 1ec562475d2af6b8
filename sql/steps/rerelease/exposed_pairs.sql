-- rerelease/exposed_pairs: rows that an earlier release may have, of each group of rows of this one
-- reads   __now__      one row per group: joint
--         __before__   one row per combination of labels on the levels of the earlier one: joint
-- gives   pairs        one row
SELECT
  coalesce(sum(now.groups * before.labels), 0)::BIGINT AS pairs
FROM (
  SELECT
    joint,
    count(*) AS groups
  FROM __now__
  GROUP BY joint
) AS now
JOIN (
  SELECT
    joint,
    count(*) AS labels
  FROM __before__
  GROUP BY joint
) AS before
  ON before.joint = now.joint
