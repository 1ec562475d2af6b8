-- verify/suppression: how many records were released, and how many of them suppressed but kept
-- reads   __classes__     one row per class: records, suppressed
-- gives   released, kept                            one row
SELECT coalesce(sum(records), 0) AS released, coalesce(sum(records) FILTER (WHERE suppressed), 0) AS kept
FROM __classes__
