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
    count(*) FILTER (WHERE __n < k) AS __small_classes,
    CAST(coalesce(sum(__rows) FILTER (WHERE __n < k), 0) AS BIGINT) AS __small_records
  FROM (
    SELECT
      __n AS __rows,
      __n
    FROM (
      SELECT
        count(*) AS __n,
        COLUMNS(CAST(qis AS VARCHAR[]))
      FROM query_table(tbl)
      WHERE subject = '' AND null_policy = 'own_category'
      GROUP BY ALL
    )
    UNION ALL
    SELECT
      __rows,
      coalesce(__n, 0) AS __n
    FROM (
      -- subjects, or NULLs that exclude: __n is NULL where there is no class
      SELECT
        __key,
        __rows,
        CASE
          WHEN null_policy = 'exclude' AND list_contains(
            list_value(*COLUMNS(lambda name: name NOT IN ('__key', '__rows', '__n'))), true
          ) THEN NULL
          ELSE __n
        END AS __n
      FROM (
        SELECT
          __rows,
          __n,
          row(*COLUMNS(lambda name: name NOT IN ('__rows', '__n'))) AS __key,
          COLUMNS(lambda name: name NOT IN ('__rows', '__n')) IS NULL
        FROM (
          SELECT
            count(*) AS __rows,
            CASE
              WHEN subject = '' THEN count(*)
              ELSE count(DISTINCT COLUMNS([CASE
                WHEN subject = '' THEN CAST(qis AS VARCHAR[])[1]
                ELSE CAST(subject AS VARCHAR)
              END]))
            END AS __n,
            -- a column that is not there: an error even where no row is read
            COLUMNS(CASE
              WHEN null_policy IN ('own_category', 'exclude')
                OR (null_policy = 'wildcard' AND subject = '')
                THEN CAST(qis AS VARCHAR[])
              ELSE ['null_policy must be own_category, exclude or, without a subject, wildcard']
            END)
          FROM query_table(tbl)
          WHERE (subject <> '' OR null_policy <> 'own_category') AND null_policy <> 'wildcard'
          GROUP BY ALL
        )
      )
      UNION ALL
      -- NULLs that equal everything: combinations match that are equal where both have a value.
      -- Each is laid over every pattern of NULLs that occurs (complete ones only match themselves
      -- among themselves), and of two patterns each counts the records of the other
      SELECT
        __key,
        any_value(__rows) AS __rows,
        CAST(sum(__met) AS BIGINT) AS __n
      FROM (
        SELECT
          __key,
          __rows,
          CASE
            WHEN __mask = __other THEN sum(__rows) OVER alike
            WHEN __mask < __other THEN sum(__rows) FILTER (WHERE __mask > __other) OVER alike
            ELSE sum(__rows) FILTER (WHERE __mask < __other) OVER alike
          END AS __met
        FROM (
          SELECT
            *,
            list_transform(
              __cells, lambda cell, i: CASE WHEN __other[i] THEN NULL ELSE cell END
            ) AS __seen
          FROM (
            SELECT
              *,
              unnest(list_filter(
                __masks,
                lambda mask:
                  mask = __mask OR list_contains(mask, true) OR list_contains(__mask, true)
              )) AS __other
            FROM (
              SELECT
                *,
                list(DISTINCT __mask) OVER () AS __masks
              FROM (
                SELECT
                  *,
                  list_transform(__cells, lambda cell: cell IS NULL) AS __mask
                FROM (
                  SELECT
                    __rows,
                    __key,
                    list_value(*COLUMNS(lambda name: name NOT IN ('__rows', '__key'))) AS __cells
                  FROM (
                    SELECT
                      __rows,
                      row(*COLUMNS(lambda name: name <> '__rows')) AS __key,
                      CAST(COLUMNS(lambda name: name <> '__rows') AS VARCHAR)
                    FROM (
                      SELECT
                        count(*) AS __rows,
                        COLUMNS(CAST(qis AS VARCHAR[]))
                      FROM query_table(tbl)
                      WHERE null_policy = 'wildcard'
                      GROUP BY ALL
                    )
                  )
                )
              )
            )
          )
        )
        WINDOW alike AS (
          PARTITION BY least(__mask, __other), greatest(__mask, __other), __seen
        )
      )
      GROUP BY __key
    )
  )
)
-- in WHERE and not in SELECT, where count(*) or EXISTS around it would optimize the check away;
-- the condition is what must hold, so that NULL fails
WHERE CASE
  WHEN coalesce(k, 0) < 1 THEN error('deid.check: k must be 1 or more')
  WHEN __smallest >= k THEN true
  WHEN __smallest IS NULL THEN error('deid.check: the table is empty, so nothing was checked')
  ELSE error(concat(
    'deid.check: not ', k, '-anonymous, the smallest class has ', __smallest, ' of ', k,
    CASE WHEN subject = '' THEN ' records; ' ELSE ' subjects; ' END,
    __small_records, ' of ', __records, ' records are in ', __small_classes,
    ' classes that are too small'
  ))
END;

-- the same as a condition, for CHECK is a reserved word after FROM, where the name needs quotes
-- (FROM deid."check"(…)): SELECT deid.check('t', ['age'], 5) gives true or an error
CREATE OR REPLACE MACRO deid.check(
  tbl, qis, k, subject := '', null_policy := 'own_category'
) AS (
  SELECT
    CASE
      WHEN coalesce(k, 0) < 1 THEN error('deid.check: k must be 1 or more')
      WHEN __smallest >= k THEN true
      WHEN __smallest IS NULL THEN error('deid.check: the table is empty, so nothing was checked')
      ELSE error(concat(
        'deid.check: not ', k, '-anonymous, the smallest class has ', __smallest, ' of ', k,
        CASE WHEN subject = '' THEN ' records; ' ELSE ' subjects; ' END,
        __small_records, ' of ', __records, ' records are in ', __small_classes,
        ' classes that are too small'
      ))
    END
  FROM (
    SELECT
      CAST(sum(__rows) AS BIGINT) AS __records,
      min(__n) AS __smallest,
      count(*) FILTER (WHERE __n < k) AS __small_classes,
      CAST(coalesce(sum(__rows) FILTER (WHERE __n < k), 0) AS BIGINT) AS __small_records
    FROM (
      SELECT
        __n AS __rows,
        __n
      FROM (
        SELECT
          count(*) AS __n,
          COLUMNS(CAST(qis AS VARCHAR[]))
        FROM query_table(tbl)
        WHERE subject = '' AND null_policy = 'own_category'
        GROUP BY ALL
      )
      UNION ALL
      SELECT
        __rows,
        coalesce(__n, 0) AS __n
      FROM (
        -- subjects, or NULLs that exclude: __n is NULL where there is no class
        SELECT
          __key,
          __rows,
          CASE
            WHEN null_policy = 'exclude' AND list_contains(
              list_value(*COLUMNS(lambda name: name NOT IN ('__key', '__rows', '__n'))), true
            ) THEN NULL
            ELSE __n
          END AS __n
        FROM (
          SELECT
            __rows,
            __n,
            row(*COLUMNS(lambda name: name NOT IN ('__rows', '__n'))) AS __key,
            COLUMNS(lambda name: name NOT IN ('__rows', '__n')) IS NULL
          FROM (
            SELECT
              count(*) AS __rows,
              CASE
                WHEN subject = '' THEN count(*)
                ELSE count(DISTINCT COLUMNS([CASE
                  WHEN subject = '' THEN CAST(qis AS VARCHAR[])[1]
                  ELSE CAST(subject AS VARCHAR)
                END]))
              END AS __n,
              -- a column that is not there: an error even where no row is read
              COLUMNS(CASE
                WHEN null_policy IN ('own_category', 'exclude')
                  OR (null_policy = 'wildcard' AND subject = '')
                  THEN CAST(qis AS VARCHAR[])
                ELSE ['null_policy must be own_category, exclude or, without a subject, wildcard']
              END)
            FROM query_table(tbl)
            WHERE (subject <> '' OR null_policy <> 'own_category') AND null_policy <> 'wildcard'
            GROUP BY ALL
          )
        )
        UNION ALL
        -- NULLs that equal everything: combinations match that are equal where both have a value.
        -- Each is laid over every pattern of NULLs that occurs (complete ones only match themselves
        -- among themselves), and of two patterns each counts the records of the other
        SELECT
          __key,
          any_value(__rows) AS __rows,
          CAST(sum(__met) AS BIGINT) AS __n
        FROM (
          SELECT
            __key,
            __rows,
            CASE
              WHEN __mask = __other THEN sum(__rows) OVER alike
              WHEN __mask < __other THEN sum(__rows) FILTER (WHERE __mask > __other) OVER alike
              ELSE sum(__rows) FILTER (WHERE __mask < __other) OVER alike
            END AS __met
          FROM (
            SELECT
              *,
              list_transform(
                __cells, lambda cell, i: CASE WHEN __other[i] THEN NULL ELSE cell END
              ) AS __seen
            FROM (
              SELECT
                *,
                unnest(list_filter(
                  __masks,
                  lambda mask:
                    mask = __mask OR list_contains(mask, true) OR list_contains(__mask, true)
                )) AS __other
              FROM (
                SELECT
                  *,
                  list(DISTINCT __mask) OVER () AS __masks
                FROM (
                  SELECT
                    *,
                    list_transform(__cells, lambda cell: cell IS NULL) AS __mask
                  FROM (
                    SELECT
                      __rows,
                      __key,
                      list_value(*COLUMNS(lambda name: name NOT IN ('__rows', '__key'))) AS __cells
                    FROM (
                      SELECT
                        __rows,
                        row(*COLUMNS(lambda name: name <> '__rows')) AS __key,
                        CAST(COLUMNS(lambda name: name <> '__rows') AS VARCHAR)
                      FROM (
                        SELECT
                          count(*) AS __rows,
                          COLUMNS(CAST(qis AS VARCHAR[]))
                        FROM query_table(tbl)
                        WHERE null_policy = 'wildcard'
                        GROUP BY ALL
                      )
                    )
                  )
                )
              )
            )
          )
          WINDOW alike AS (
            PARTITION BY least(__mask, __other), greatest(__mask, __other), __seen
          )
        )
        GROUP BY __key
      )
    )
  )
);
