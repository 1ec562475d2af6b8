-- annotate: the table with the size of every record's class beside it
-- reads   tbl    a table, view, CTE or file: one row per record
--         qis    its quasi-identifiers, a list of column names; NULLs form one class
-- gives   the columns of tbl, class_size    one row per record
CREATE OR REPLACE MACRO deid.annotate(tbl, qis) AS TABLE
SELECT
  * EXCLUDE (class_size),
  -- counted first, then moved to the end: a column of the table called class_size
  -- becomes class_size_1 and never stands in for the count
  class_size
FROM (
  SELECT
    count(*) OVER (PARTITION BY row(*COLUMNS(CAST(qis AS VARCHAR[])))) AS class_size,
    *
  FROM query_table(tbl)
);
