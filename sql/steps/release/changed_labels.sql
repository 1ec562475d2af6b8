-- release/changed_labels: values that a hierarchy generalizes otherwise than when it was kept
-- reads   __now__, __kept__    hierarchies in long form: hierarchy, level, value, label
-- gives   hierarchy, level, values    one row for each level on which some do
SELECT
  now.hierarchy,
  now.level,
  count(*) AS values
FROM __now__ AS now
JOIN __kept__ AS kept
  ON kept.hierarchy = now.hierarchy
  AND kept.level = now.level
  AND kept.value IS NOT DISTINCT FROM now.value
WHERE kept.label IS DISTINCT FROM now.label
GROUP BY ALL
ORDER BY ALL
