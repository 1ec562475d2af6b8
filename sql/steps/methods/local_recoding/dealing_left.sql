-- methods/local_recoding/dealing_left: the records that stay without a block
-- reads   __pool__     unit, records, and others
--         __dealt__    unit, block, records
--         __failing__  block: of which nobody stays, since they do not hold
-- gives   the columns of the pool                                                 one row a unit
SELECT pool.* REPLACE (pool.records - coalesce(taken.records, 0) AS records)
FROM __pool__ AS pool
LEFT JOIN (
  SELECT
    dealt.unit,
    CAST(sum(dealt.records) AS BIGINT) AS records
  FROM __dealt__ AS dealt
  ANTI JOIN __failing__ AS failing
    ON failing.block = dealt.block
  GROUP BY dealt.unit
) AS taken
  ON taken.unit = pool.unit
WHERE pool.records > coalesce(taken.records, 0)
