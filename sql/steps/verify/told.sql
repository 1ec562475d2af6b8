-- verify/told: what a catalog tells about the sensitive values of each class of its groups
-- reads   __counts__    one row per class and sensitive value: class, value, records
--         __listed__    grp, value, counterfeits
--         __members__   grp, class, candidate
-- gives   grp, class, value, records, candidate; in the group: counterfeits with the value, records
--         with it, and those of them in candidates            one row per class and value in a group
SELECT
  held.*,
  coalesce(listed.counterfeits, 0) AS counterfeits,
  sum(held.records) OVER alike AS total,
  coalesce(sum(held.records) FILTER (WHERE held.candidate) OVER alike, 0) AS suspected
FROM (
  SELECT members.grp, members.class, members.candidate, counts.value, counts.records
  FROM __members__ AS members
  JOIN __counts__ AS counts
    ON counts.class = members.class
) AS held
LEFT JOIN __listed__ AS listed
  ON listed.grp = held.grp AND listed.value IS NOT DISTINCT FROM held.value
WINDOW alike AS (PARTITION BY held.grp, held.value)
