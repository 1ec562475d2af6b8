-- k: the size of the smallest class, so that the table is k-anonymous
-- reads   tbl    a table, view, CTE or file: one row per record
--         qis    its quasi-identifiers, a list of column names; NULLs form one class
-- gives   BIGINT; 0 for an empty table, so that neither `>= 5` nor `< 5` passes it by mistake
CREATE OR REPLACE MACRO deid.k(tbl, qis) AS (
  SELECT coalesce(min(__n), 0)
  FROM (
    SELECT
      count(*) AS __n,
      COLUMNS(CAST(qis AS VARCHAR[]))
    FROM query_table(tbl)
    GROUP BY ALL
  )
);
