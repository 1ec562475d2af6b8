-- rerelease/exposed_beside: counterfeit records that a release and an earlier one of other levels expose
-- reads   __now__       one row per group of rows of this release: number, records, genuine
--         __tried__     one row per row that the earlier one may have of a group: number, row
--         __earlier__   one row per distinct row of the earlier one: row, records
--         $counterfeits   of the earlier one
-- gives   exposed, counterfeits, before, missing   one row; before: records of the earlier one that
--                       are more than this one has; missing: real records that only one of them has
WITH found AS (
  SELECT
    tried.number,
    sum(earlier.records) AS records
  FROM __tried__ AS tried
  JOIN __earlier__ AS earlier
    ON earlier.row = tried.row
  GROUP BY tried.number
), beside AS (
  SELECT
    now.records,
    now.genuine,
    coalesce(found.records, 0) AS earlier
  FROM __now__ AS now
  LEFT JOIN found
    ON found.number = now.number
), whole AS (
  SELECT
    coalesce(sum(records), 0) AS records
  FROM __earlier__
)
SELECT
  coalesce(sum(least(beside.records - genuine, greatest(beside.records - earlier, 0))), 0)::BIGINT AS exposed,
  coalesce(sum(beside.records - genuine), 0)::BIGINT AS counterfeits,
  (any_value(whole.records) - coalesce(sum(least(beside.records, earlier)), 0))::BIGINT AS before,
  (
    coalesce(sum(greatest(genuine - earlier, 0)), 0)
    + abs(any_value(whole.records) - $counterfeits - coalesce(sum(genuine), 0))
  )::BIGINT AS missing
FROM beside
CROSS JOIN whole
