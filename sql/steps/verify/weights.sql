-- verify/weights: whether a view weighs the records as the catalog tells
-- reads   __weighted__  one row per record of the view: class, value, weight
--         __counts__    one row per class and sensitive value: class, value, records
--         __told__      what the catalog tells: class, value, counterfeits, total
--         $tolerance
-- gives   unlike: classes and values that the release has not or in another number, or whose
--         weights differ                                                              one row
WITH found AS (
  SELECT class, value, count(*) AS records, min(weight) AS least, max(weight) AS most
  FROM __weighted__
  GROUP BY class, value
),
expected AS (
  SELECT
    counts.class,
    counts.value,
    counts.records,
    1 - coalesce(told.counterfeits, 0) / coalesce(told.total, 1) AS weight
  FROM __counts__ AS counts
  LEFT JOIN __told__ AS told
    ON told.class = counts.class AND told.value IS NOT DISTINCT FROM counts.value
)
SELECT count(*) AS unlike
FROM expected
FULL JOIN found
  ON found.class = expected.class AND found.value IS NOT DISTINCT FROM expected.value
WHERE NOT coalesce(
  found.records = expected.records AND abs(found.least - expected.weight) <= $tolerance
  AND abs(found.most - expected.weight) <= $tolerance,
  FALSE
)
