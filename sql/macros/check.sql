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
FROM (
  SELECT
    CAST(sum(__rows) AS BIGINT) AS __records,
    count(*) AS __classes,
    min(__n) AS __smallest,
    count(*) FILTER (WHERE __n < TRY_CAST(CAST(k AS VARCHAR) AS BIGINT)) AS __small_classes,
    CAST(
      coalesce(sum(__rows) FILTER (WHERE __n < TRY_CAST(CAST(k AS VARCHAR) AS BIGINT)), 0)
      AS BIGINT
    ) AS __small_records
  FROM (
    SELECT
      __n AS __rows,
      __n
    FROM __record_classes__
    UNION ALL
    SELECT
      __rows,
      coalesce(__n, 0) AS __n
    FROM __policy_classes__
  )
)
-- in WHERE and not in SELECT, where count(*) or EXISTS around it would optimize the check away;
-- the condition is what must hold, so that NULL fails
WHERE coalesce(
  __wrong_k__,
  CASE
    WHEN __smallest >= TRY_CAST(CAST(k AS VARCHAR) AS BIGINT) THEN true
    WHEN __smallest IS NULL THEN error('deid.check: the table is empty, so nothing was checked')
    ELSE error(concat(
      'deid.check: not ', CAST(k AS VARCHAR), '-anonymous, the smallest class has ', __smallest,
      ' of ', CAST(k AS VARCHAR),
      CASE WHEN subject = '' THEN ' records; ' ELSE ' subjects; ' END,
      __small_records, ' of ', __records, ' records are in ', __small_classes,
      ' classes that are too small'
    ))
  END
);

-- the same as a condition, for CHECK is a reserved word after FROM, where the name needs quotes
-- (FROM deid."check"(…)): SELECT deid.check('t', ['age'], 5) gives true or an error
CREATE OR REPLACE MACRO deid.check(
  tbl, qis, k, subject := '', null_policy := 'own_category'
) AS (
  SELECT
    coalesce(
      __wrong_k__,
      CASE
        WHEN __smallest >= TRY_CAST(CAST(k AS VARCHAR) AS BIGINT) THEN true
        WHEN __smallest IS NULL THEN error('deid.check: the table is empty, so nothing was checked')
        ELSE error(concat(
          'deid.check: not ', CAST(k AS VARCHAR), '-anonymous, the smallest class has ', __smallest,
          ' of ', CAST(k AS VARCHAR),
          CASE WHEN subject = '' THEN ' records; ' ELSE ' subjects; ' END,
          __small_records, ' of ', __records, ' records are in ', __small_classes,
          ' classes that are too small'
        ))
      END
    )
  FROM (
    SELECT
      CAST(sum(__rows) AS BIGINT) AS __records,
      min(__n) AS __smallest,
      count(*) FILTER (WHERE __n < TRY_CAST(CAST(k AS VARCHAR) AS BIGINT)) AS __small_classes,
      CAST(
        coalesce(sum(__rows) FILTER (WHERE __n < TRY_CAST(CAST(k AS VARCHAR) AS BIGINT)), 0)
        AS BIGINT
      ) AS __small_records
    FROM (
      SELECT
        __n AS __rows,
        __n
      FROM __record_classes__
      UNION ALL
      SELECT
        __rows,
        coalesce(__n, 0) AS __n
      FROM __policy_classes__
    )
  )
);
