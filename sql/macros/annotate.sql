-- annotate: the table with the size of every record's class beside it
-- reads   tbl            a table, view, CTE or file: one row per record
--         qis            its quasi-identifiers, a list of column names
--         subject        the column that tells whose record it is: distinct values of it count,
--                        and a NULL for nobody; '': every record counts
--         null_policy    what a NULL in a quasi-identifier equals: own_category (NULL), exclude
--                        (nothing) or, without a subject, wildcard (everything, as in sdcMicro)
-- gives   the columns of tbl, class_size    one row per record; class_size is 0 where a NULL
--         excludes the record
-- example FROM deid.annotate('visits', ['age', 'sex'])
CREATE OR REPLACE MACRO deid.annotate(
  tbl, qis, subject := '', null_policy := 'own_category'
) AS TABLE
SELECT
  * EXCLUDE (class_size),
  -- counted first, then moved to the end: a column of the table called class_size
  -- becomes class_size_1 and never stands in for the count
  class_size
FROM (
  SELECT
    count(*) OVER (PARTITION BY row(*COLUMNS(CAST(qis AS VARCHAR[])))) AS class_size,
    *
  FROM query_table(
    __given_counting__
  )
  WHERE subject = '' AND null_policy = 'own_category'
  UNION ALL
  SELECT
    coalesce(class.__n, 0) AS class_size,
    record.* EXCLUDE (__key)
  FROM (
    SELECT
      row(*COLUMNS(CAST(qis AS VARCHAR[]))) AS __key,
      *
    FROM query_table(
      __given_counting__
    )
    WHERE subject <> '' OR null_policy <> 'own_category'
  ) AS record
  JOIN __policy_classes__ AS class
    ON class.__key = record.__key
);
