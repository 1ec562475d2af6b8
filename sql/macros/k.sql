-- k: the size of the smallest class, so that the table is k-anonymous
-- reads   tbl            a table, view, CTE or file: one row per record
--         qis            its quasi-identifiers, a list of column names
--         subject        the column that tells whose record it is: distinct values of it count,
--                        and a NULL for nobody; '': every record counts
--         null_policy    what a NULL in a quasi-identifier equals: own_category (NULL), exclude
--                        (nothing) or, without a subject, wildcard (everything, as in sdcMicro)
-- gives   BIGINT; 0 for an empty table, so that neither `>= 5` nor `< 5` passes it by mistake, and
--         where NULLs are excluded and a record has one
-- example SELECT deid.k('visits', ['sex'])  -- 2
CREATE OR REPLACE MACRO deid.k(
  tbl, qis, subject := '', null_policy := 'own_category'
) AS (
  SELECT coalesce(min(__n), 0)
  FROM (
    SELECT __n
    FROM __record_classes__
    UNION ALL
    SELECT coalesce(__n, 0) AS __n
    FROM __policy_classes__
  )
);
