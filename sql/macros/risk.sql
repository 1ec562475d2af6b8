-- risk: re-identification risk under the prosecutor model, 1 / class size for each record
-- reads   tbl    a table, view, CTE or file: one row per record
--         qis    its quasi-identifiers, a list of column names; NULLs form one class
--         k      records of smaller classes count as at risk
-- gives   records, classes, k (the smallest class), highest_risk, average_risk, unique_records,
--         records_at_risk    one row; of an empty table k and the risks are NULL
CREATE OR REPLACE MACRO deid.risk(tbl, qis, k := 5) AS TABLE
SELECT
  CAST(coalesce(sum(__n), 0) AS BIGINT) AS records,
  count(*) AS classes,
  min(__n) AS k,
  1 / min(__n) AS highest_risk,
  -- the mean over records of 1 / class size: every class adds 1
  count(*) / sum(__n) AS average_risk,
  count(*) FILTER (WHERE __n = 1) AS unique_records,
  -- an unknown k puts every record at risk
  CAST(coalesce(sum(__n) FILTER (WHERE NOT coalesce(__n >= k, false)), 0) AS BIGINT)
    AS records_at_risk
FROM (
  SELECT
    count(*) AS __n,
    COLUMNS(CAST(qis AS VARCHAR[]))
  FROM query_table(tbl)
  GROUP BY ALL
);
