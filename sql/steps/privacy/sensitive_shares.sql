-- privacy/sensitive_shares: the sensitive values of each class beside those of the whole source
-- reads   __held__    one row per class and value: class, size, value, count
--         __whole__   one row per value of the source: value, place, known, people
-- gives   class, size, value, count, pairs (the sum of the class's counts), and of the source
--         place, known, people, total (the sum of known), domain (how many values); one row per
--         class and value, NULL of the source where it has not the value
WITH whole AS (
  SELECT
    *,
    CAST(sum(known) OVER () AS BIGINT) AS total,
    count(*) OVER () AS domain
  FROM __whole__
)
SELECT
  held.class,
  held.size,
  held.value,
  held.count,
  CAST(sum(held.count) OVER (PARTITION BY held.class) AS BIGINT) AS pairs,
  whole.place,
  whole.known,
  whole.people,
  whole.total,
  whole.domain
FROM __held__ AS held
LEFT JOIN whole
  ON whole.value IS NOT DISTINCT FROM held.value
