-- rerelease/exposed_counterfeits: counterfeit records that an earlier release of the same levels does not have
-- reads   __rows__      one row per distinct row of this release: row, records, and how many of them are
--                       counterfeits
--         __earlier__   the same of the earlier one: row, records
-- gives   exposed, counterfeits   one row
SELECT
  coalesce(sum(least(r.counterfeits, greatest(r.records - coalesce(e.records, 0), 0))), 0)::BIGINT
    AS exposed,
  coalesce(sum(r.counterfeits), 0)::BIGINT AS counterfeits
FROM __rows__ AS r
LEFT JOIN __earlier__ AS e
  ON e.row = r.row
