-- greatest_share: the share of the records that have the most frequent value of a column
-- reads   __rel__    one row per record        __col__   the column
-- gives   share      one row; NULL is a value, and a table without rows has a share of 1
SELECT coalesce(max(n) / sum(n), 1) AS share
FROM (
  SELECT count(*) AS n
  FROM __rel__
  GROUP BY __col__
)
