-- average_class_size: how many records a class has on average
-- reads   tbl    a table, view, CTE or file: one row per record
--         qis    its quasi-identifiers, a list of column names; NULLs form one class
-- gives   average_class_size    one row, NULL for an empty table
-- example FROM deid.average_class_size('visits', ['age', 'sex'])
CREATE OR REPLACE MACRO deid.average_class_size(tbl, qis) AS TABLE
SELECT
  avg(__n) AS average_class_size
FROM (
  SELECT
    count(*) AS __n,
    COLUMNS(CAST(qis AS VARCHAR[]))
  FROM query_table(
    __given_qis__
  )
  GROUP BY ALL
);
