-- utility/reconstruction_error: how much of the source the records of a release tell
-- reads   __sorts__   one row per sort of released record: records, how many of them are
--                     counterfeit, weight (how probably one is real), and told (sum over the
--                     quasi-identifiers of one over the values that the released one stands for)
-- gives   quasi_identifiers: what the cells of the quasi-identifiers tell;
--         plain: what the cell of a column tells that is released as it is         one row
WITH gains AS (
  SELECT
    told,
    2 * weight * (records - counterfeits) - records * weight * weight AS gain
  FROM __sorts__
)
-- added in one order, so that a sum is the same in every run
SELECT
  coalesce(sum(told * gain ORDER BY gain, told), 0) AS quasi_identifiers,
  coalesce(sum(gain ORDER BY gain), 0) AS plain
FROM gains
