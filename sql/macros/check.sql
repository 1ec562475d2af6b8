-- check: an error unless every class has at least k records, or subjects
-- reads   tbl            a table, view, CTE or file: one row per record
--         qis            its quasi-identifiers, a list of column names
--         k              the smallest class that is allowed
--         subject        the column that tells whose record it is: distinct values of it count,
--                        and a NULL for nobody; '': every record counts
--         null_policy    what a NULL in a quasi-identifier equals: own_category (NULL), exclude
--                        (nothing) or, without a subject, wildcard (everything, as in sdcMicro)
-- gives   records, classes, k (the smallest class)    one row; an error when a class is smaller
--         than k, when NULLs are excluded and a record has one, when the table is empty or k is
--         below 1
-- example FROM deid."check"('visits', ['sex'], 2)
CREATE OR REPLACE MACRO deid.check(
  tbl, qis, k, subject := '', null_policy := 'own_category'
) AS TABLE
SELECT
  __records AS records,
  __classes AS classes,
  __smallest AS k
FROM __checked_classes__
-- in WHERE and not in SELECT, where count(*) or EXISTS around it would optimize the check away;
-- the condition is what must hold, so that NULL fails
WHERE
  __is_held__;

-- the same as a condition, for CHECK is a reserved word after FROM, where the name needs quotes
-- (FROM deid."check"(…)): SELECT deid.check('t', ['age'], 5) gives true or an error
CREATE OR REPLACE MACRO deid.check(
  tbl, qis, k, subject := '', null_policy := 'own_category'
) AS (
  SELECT
    __is_held__
  FROM __checked_classes__
);
