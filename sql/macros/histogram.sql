-- histogram: how many classes and records there are of every class size
-- reads   tbl            a table, view, CTE or file: one row per record
--         qis            its quasi-identifiers, a list of column names
--         subject        the column that tells whose record it is: distinct values of it count,
--                        and a NULL for nobody; '': every record counts
--         null_policy    what a NULL in a quasi-identifier equals: own_category (NULL), exclude
--                        (nothing) or, without a subject, wildcard (everything, as in sdcMicro)
-- gives   class_size, classes, records    one row per class size, smallest first; without the
--         records that a NULL excludes
-- example FROM deid.histogram('visits', ['age', 'sex'])
CREATE OR REPLACE MACRO deid.histogram(
  tbl, qis, subject := '', null_policy := 'own_category'
) AS TABLE
SELECT
  __n AS class_size,
  count(*) AS classes,
  CAST(sum(__rows) AS BIGINT) AS records
FROM __all_classes__
WHERE __n IS NOT NULL
GROUP BY __n
ORDER BY __n;
