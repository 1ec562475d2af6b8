-- suppress: the records whose class has at least k records, or subjects
-- reads   tbl            a table, view, CTE or file: one row per record
--         qis            its quasi-identifiers, a list of column names
--         k              the smallest class that stays
--         subject        the column that tells whose record it is: distinct values of it count,
--                        and a NULL for nobody; '': every record counts
--         null_policy    own_category: a NULL equals a NULL; exclude: it equals nothing, and the
--                        record goes. Not wildcard: what goes would be missing in what stays
-- gives   exactly the columns of tbl    the records that stay; a subject whose record in one class
--         goes keeps those in others
-- example FROM deid.suppress('visits', ['sex'], k := 2)
CREATE OR REPLACE MACRO deid.suppress(
  tbl, qis, k := 5, subject := '', null_policy := 'own_category'
) AS TABLE
-- no rows, only the names: the branches below rename columns of the table called as ours
(
  SELECT *
  FROM query_table(coalesce(
    __wrong_k__,
    __given_policy__
  ))
  LIMIT 0
)
UNION ALL
SELECT * EXCLUDE (__n)
FROM (
  SELECT
    -- first, so that a column of the table called __n cannot stand in for the count
    count(*) OVER (PARTITION BY row(*COLUMNS(CAST(qis AS VARCHAR[])))) AS __n,
    *
  FROM query_table(
    __given_policy__
  )
  WHERE subject = '' AND null_policy = 'own_category'
)
WHERE __n >= k
UNION ALL
SELECT COLUMNS(lambda name: name NOT IN ('__n', '__who', '__key'))
FROM (
  SELECT
    CASE
      WHEN subject = '' THEN count(*) OVER (PARTITION BY __key)
      ELSE count(DISTINCT __who) OVER (PARTITION BY __key)
    END AS __n,
    *
  FROM (
    SELECT
      COLUMNS([CASE
        WHEN subject = '' THEN CAST(qis AS VARCHAR[])[1]
        ELSE CAST(subject AS VARCHAR)
      END]) AS __who,
      row(*COLUMNS(CAST(qis AS VARCHAR[]))) AS __key,
      *
    FROM query_table(
      __given_policy__
    )
    WHERE (subject <> '' OR null_policy <> 'own_category')
      AND (
        null_policy = 'own_category'
        OR COLUMNS(CAST(qis AS VARCHAR[])) IS NOT NULL
      )
  )
)
WHERE __n >= k;
