-- histogram: how many classes and records there are of every class size
-- reads   tbl    a table, view, CTE or file: one row per record
--         qis    its quasi-identifiers, a list of column names; NULLs form one class
-- gives   class_size, classes, records    one row per class size, smallest first
CREATE OR REPLACE MACRO deid.histogram(tbl, qis) AS TABLE
SELECT
  __n AS class_size,
  count(*) AS classes,
  CAST(sum(__n) AS BIGINT) AS records
FROM (
  SELECT
    count(*) AS __n,
    COLUMNS(CAST(qis AS VARCHAR[]))
  FROM query_table(tbl)
  GROUP BY ALL
)
GROUP BY __n
ORDER BY __n;
