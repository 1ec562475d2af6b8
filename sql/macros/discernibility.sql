-- discernibility: the discernibility metric of Bayardo and Agrawal (2005)
-- reads   tbl    a table, view, CTE or file: one row per record
--         qis    its quasi-identifiers, a list of column names; NULLs form one class
--         k      records of smaller classes count as suppressed
-- gives   discernibility    one row: the sum of |E|² over the classes E of at least k records,
--                           plus the number of all records for every suppressed one
-- example FROM deid.discernibility('visits', ['age', 'sex'], k := 2)
CREATE OR REPLACE MACRO deid.discernibility(tbl, qis, k := 1) AS TABLE
SELECT
  coalesce(sum(__n * __n) FILTER (WHERE __n >= k), 0)
  + coalesce(sum(__n) FILTER (WHERE __n < k) * sum(__n), 0)
    AS discernibility
FROM (
  SELECT
    count(*) AS __n,
    COLUMNS(CAST(qis AS VARCHAR[]))
  FROM query_table(coalesce(
    __wrong_k__,
    __given_qis__
  ))
  GROUP BY ALL
);
