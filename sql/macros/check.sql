-- check: an error unless every class has at least k records
-- reads   tbl    a table, view, CTE or file: one row per record
--         qis    its quasi-identifiers, a list of column names; NULLs form one class
--         k      the smallest class that is allowed
-- gives   records, classes, k (the smallest class)    one row; an error when a class is smaller
--         than k, when the table is empty or k is below 1
CREATE OR REPLACE MACRO deid.check(tbl, qis, k) AS TABLE
SELECT
  __records AS records,
  __classes AS classes,
  __smallest AS k
FROM (
  SELECT
    CAST(sum(__n) AS BIGINT) AS __records,
    count(*) AS __classes,
    min(__n) AS __smallest,
    count(*) FILTER (WHERE __n < k) AS __small_classes,
    CAST(coalesce(sum(__n) FILTER (WHERE __n < k), 0) AS BIGINT) AS __small_records
  FROM (
    SELECT
      count(*) AS __n,
      COLUMNS(CAST(qis AS VARCHAR[]))
    FROM query_table(tbl)
    GROUP BY ALL
  )
)
-- in WHERE and not in SELECT, where count(*) or EXISTS around it would optimize the check away;
-- the condition is what must hold, so that NULL fails
WHERE CASE
  WHEN __smallest >= k THEN true
  WHEN coalesce(k, 0) < 1 THEN error('deid.check: k must be 1 or more')
  WHEN __smallest IS NULL THEN error('deid.check: the table is empty, so nothing was checked')
  ELSE error(concat(
    'deid.check: not ', k, '-anonymous, the smallest class has ', __smallest, ' of ', k,
    ' records; ', __small_records, ' of ', __records, ' records are in ', __small_classes,
    ' classes that are too small'
  ))
END;

-- the same as a condition, for CHECK is a reserved word after FROM, where the name needs quotes
-- (FROM deid."check"(…)): SELECT deid.check('t', ['age'], 5) gives true or an error
CREATE OR REPLACE MACRO deid.check(tbl, qis, k) AS (
  SELECT
    CASE
      WHEN __smallest >= k THEN true
      WHEN coalesce(k, 0) < 1 THEN error('deid.check: k must be 1 or more')
      WHEN __smallest IS NULL THEN error('deid.check: the table is empty, so nothing was checked')
      ELSE error(concat(
        'deid.check: not ', k, '-anonymous, the smallest class has ', __smallest, ' of ', k,
        ' records; ', __small_records, ' of ', __records, ' records are in ', __small_classes,
        ' classes that are too small'
      ))
    END
  FROM (
    SELECT
      CAST(sum(__n) AS BIGINT) AS __records,
      min(__n) AS __smallest,
      count(*) FILTER (WHERE __n < k) AS __small_classes,
      CAST(coalesce(sum(__n) FILTER (WHERE __n < k), 0) AS BIGINT) AS __small_records
    FROM (
      SELECT
        count(*) AS __n,
        COLUMNS(CAST(qis AS VARCHAR[]))
      FROM query_table(tbl)
      GROUP BY ALL
    )
  )
);
