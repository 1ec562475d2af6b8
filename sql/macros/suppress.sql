-- suppress: the records whose class has at least k records
-- reads   tbl    a table, view, CTE or file: one row per record
--         qis    its quasi-identifiers, a list of column names; NULLs form one class
--         k      the smallest class that stays
-- gives   exactly the columns of tbl    the records that stay
CREATE OR REPLACE MACRO deid.suppress(tbl, qis, k := 5) AS TABLE
-- no rows, only the names: the branch below renames a column of the table called __n
(
  SELECT *
  FROM query_table(tbl)
  LIMIT 0
)
UNION ALL
SELECT * EXCLUDE (__n)
FROM (
  SELECT
    -- first, so that a column of the table called __n cannot stand in for the count
    count(*) OVER (PARTITION BY row(*COLUMNS(CAST(qis AS VARCHAR[])))) AS __n,
    *
  FROM query_table(tbl)
)
WHERE __n >= k;
