-- classes: every combination of the quasi-identifiers that occurs, with the number of its records
-- reads   tbl    a table, view, CTE or file: one row per record
--         qis    its quasi-identifiers, a list of column names; NULLs form one class
-- gives   the quasi-identifiers, class_size    one row per class
CREATE OR REPLACE MACRO deid.classes(tbl, qis) AS TABLE
SELECT
  * EXCLUDE (class_size),
  -- counted first, then moved to the end: a quasi-identifier called class_size
  -- becomes class_size_1 and never stands in for the count
  class_size
FROM (
  SELECT
    count(*) AS class_size,
    COLUMNS(CAST(qis AS VARCHAR[]))
  FROM query_table(tbl)
  GROUP BY ALL
);
