-- methods/policy/intervals: what measures of loss add up over intervals, alone and joined with the next
-- reads   __map__      attribute, code, place (of its interval): one row a value
--         __values__   attribute, code, records: values that records have
--         __domains__  attribute, size, weight
-- gives   attribute, place (the first interval), intervals (1 or 2), and a column a measure:
--         n ln w, the loss (w - 1)/(D - 1) of each record, n ln n        one row a run of intervals
WITH alone AS (
  SELECT
    value.attribute,
    value.place,
    count(*) AS width,
    coalesce(sum(own.records), 0) AS records
  FROM __map__ AS value
  LEFT JOIN __values__ AS own
    ON own.attribute = value.attribute
    AND own.code = value.code
  GROUP BY value.attribute, value.place
), runs AS (
  SELECT attribute, place, 1 AS intervals, width, records
  FROM alone
  UNION ALL
  SELECT
    one.attribute,
    one.place,
    2 AS intervals,
    one.width + other.width AS width,
    one.records + other.records AS records
  FROM alone AS one
  JOIN alone AS other
    ON other.attribute = one.attribute
    AND other.place = one.place + 1
)
SELECT
  runs.attribute,
  runs.place,
  runs.intervals,
  runs.records * ln(runs.width) AS kl,
  runs.records * (runs.width - 1) * domain.weight / greatest(domain.size - 1, 1) AS loss,
  CASE WHEN runs.records > 0 THEN runs.records * ln(runs.records) ELSE 0 END AS nonuniform_entropy
FROM runs
JOIN __domains__ AS domain
  ON domain.attribute = runs.attribute
