-- classes: every combination of the quasi-identifiers that occurs, with the size of its class
-- reads   tbl            a table, view, CTE or file: one row per record
--         qis            its quasi-identifiers, a list of column names
--         subject        the column that tells whose record it is: distinct values of it count,
--                        and a NULL for nobody; '': every record counts
--         null_policy    what a NULL in a quasi-identifier equals: own_category (NULL), exclude
--                        (nothing) or, without a subject, wildcard (everything, as in sdcMicro)
-- gives   the quasi-identifiers, class_size    one row per class; class_size is 0 where a NULL
--         excludes the combination
-- example FROM deid.classes('visits', ['age', 'sex'])
CREATE OR REPLACE MACRO deid.classes(
  tbl, qis, subject := '', null_policy := 'own_category'
) AS TABLE
SELECT
  * EXCLUDE (class_size),
  -- counted first, then moved to the end: a quasi-identifier called class_size
  -- becomes class_size_1 and never stands in for the count
  class_size
FROM (
  SELECT
    count(*) AS class_size,
    COLUMNS(CAST(qis AS VARCHAR[]))
  FROM query_table(
    __given_counting__
  )
  WHERE subject = '' AND null_policy = 'own_category'
  GROUP BY ALL
  UNION ALL
  SELECT
    coalesce(__n, 0) AS class_size,
    unnest(__key)
  FROM __policy_classes__
);
