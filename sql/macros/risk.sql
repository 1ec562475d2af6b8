-- risk: re-identification risk under the prosecutor model, 1 / class size for each record
-- reads   tbl            a table, view, CTE or file: one row per record
--         qis            its quasi-identifiers, a list of column names
--         k              records of smaller classes count as at risk
--         subject        the column that tells whose record it is: distinct values of it count,
--                        and a NULL for nobody; '': every record counts
--         null_policy    what a NULL in a quasi-identifier equals: own_category (NULL), exclude
--                        (nothing) or, without a subject, wildcard (everything, as in sdcMicro)
-- gives   records, subjects, classes, k (the smallest class), highest_risk, average_risk,
--         unique_records, records_at_risk    one row; where there is no class k and the risks are
--         NULL. Without a subject each record is one, and the average is over the records; with one
--         it is over the subjects, each by its smallest class. Records that a NULL excludes have no
--         class and are at risk
-- example FROM deid.risk('visits', ['age', 'sex'], k := 2)
CREATE OR REPLACE MACRO deid.risk(
  tbl, qis, k := 5, subject := '', null_policy := 'own_category'
) AS TABLE
SELECT
  CAST(coalesce(sum(__rows), 0) AS BIGINT) AS records,
  CAST(coalesce(sum(__rows), 0) AS BIGINT) AS subjects,
  count(__n) AS classes,
  min(__n) AS k,
  1 / min(__n) AS highest_risk,
  -- the mean over records of 1 / class size: every class adds 1, where each record is in one
  CASE
    WHEN null_policy = 'own_category' THEN count(*) / sum(__rows)
    ELSE sum(__rows / __n) / sum(__rows) FILTER (WHERE __n IS NOT NULL)
  END AS average_risk,
  CAST(coalesce(sum(__rows) FILTER (WHERE __n = 1), 0) AS BIGINT) AS unique_records,
  -- those without a class have no size
  CAST(coalesce(sum(__rows) FILTER (WHERE NOT coalesce(__n >= k, false)), 0) AS BIGINT)
    AS records_at_risk
FROM __all_classes__
HAVING subject = ''
UNION ALL
SELECT
  CAST(coalesce(sum(__rows), 0) AS BIGINT) AS records,
  count(__who) AS subjects,
  CAST(coalesce(sum(__classes), 0) AS BIGINT) AS classes,
  min(__least) AS k,
  -- a class of subjects that are all NULL hides nobody
  CASE WHEN min(__least) = 0 THEN 1 ELSE 1 / min(__least) END AS highest_risk,
  avg(1 / __least) FILTER (WHERE __who IS NOT NULL) AS average_risk,
  CAST(coalesce(sum(__unique), 0) AS BIGINT) AS unique_records,
  CAST(coalesce(sum(__exposed), 0) AS BIGINT) AS records_at_risk
FROM (
  SELECT
    __who,
    sum(__rows) AS __rows,
    count(__n) FILTER (WHERE __first) AS __classes,
    min(__n) AS __least,
    sum(__rows) FILTER (WHERE __n <= 1) AS __unique,
    sum(__rows) FILTER (WHERE NOT coalesce(__n >= k, false)) AS __exposed
  FROM (
    SELECT
      __who,
      __rows,
      CASE
        WHEN null_policy = 'exclude' AND __partial THEN NULL
        ELSE count(__who) OVER (PARTITION BY __key)
      END AS __n,
      row_number() OVER (PARTITION BY __key) = 1 AS __first
    FROM (
      SELECT
        __who,
        __rows,
        __key,
        list_contains(
          list_value(*COLUMNS(lambda name: name NOT IN ('__who', '__rows', '__key'))), true
        ) AS __partial
      FROM (
        SELECT
          __who,
          __rows,
          row(*COLUMNS(lambda name: name NOT IN ('__who', '__rows'))) AS __key,
          COLUMNS(lambda name: name NOT IN ('__who', '__rows')) IS NULL
        FROM (
          SELECT
            count(*) AS __rows,
            COLUMNS([CASE
              WHEN subject = '' THEN CAST(qis AS VARCHAR[])[1]
              ELSE CAST(subject AS VARCHAR)
            END]) AS __who,
            COLUMNS(CAST(qis AS VARCHAR[]))
          FROM query_table(coalesce(
            __wrong_k__,
            __given_counting__
          ))
          WHERE subject <> ''
          GROUP BY ALL
        )
      )
    )
  )
  GROUP BY __who
)
HAVING subject <> '';
