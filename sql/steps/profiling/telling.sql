-- profiling/telling: how far the values of columns tell persons apart, and how far they are the same for all
-- reads   __rel__   the different values of some columns, or classes of records: place, n records,
--                   and the first and the last of those whose records these are
-- gives   place; alone: share of the records whose value nobody else has; most: share of the records
--         that have the most frequent value                                        one row a place
SELECT
  place,
  coalesce(sum(n) FILTER (first_one = last_one) / sum(n), 0) AS alone,
  coalesce(max(n) / sum(n), 1) AS most
FROM __rel__
GROUP BY place
