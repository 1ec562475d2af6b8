-- verify/means: records of classes that do not read the mean of their members
-- reads   __cells__   one row for each source value and class: __key__, what the class reads; value,
--                     the number in the source; shown, what replaces it; records
-- gives   records                                                               one row
-- Differences are added up: sums of large numbers would hide small ones. $slack is for days and
-- seconds, what is beside it for doubles: a mean is rounded once, by at most 1.2e-16 of itself.
SELECT coalesce(sum(members), 0)::BIGINT AS records
FROM (
  SELECT
    sum(records) AS members,
    any_value(shown) AS shown,
    sum((value - shown) * records) / sum(records) FILTER (WHERE value IS NOT NULL) AS apart,
    count(value) AS known,
    max(abs(value - shown)) AS farthest
  FROM __cells__
  GROUP BY __key__
)
WHERE (shown IS NULL) <> (known = 0)
  OR abs(apart) > $slack + 1e-9 * farthest + 2.5e-16 * abs(shown)
