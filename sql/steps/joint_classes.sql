-- joint_classes: people by the class that shows them in an earlier release and the class in this one
-- reads   __earlier__   one row per record that it shows: record, person, class
--         __shown__     the same of this release
-- gives   before, now   the classes, -1 where the release does not show the record
--         people        those whose records are in both; one row per pair
SELECT
  coalesce(earlier.class, -1) AS before,
  coalesce(shown.class, -1) AS now,
  count(DISTINCT coalesce(shown.person, earlier.person)) AS people
FROM __earlier__ AS earlier
FULL JOIN __shown__ AS shown
  ON shown.record = earlier.record
GROUP BY ALL
