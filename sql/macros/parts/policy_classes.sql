-- policy_classes: the classes where subjects count, or a NULL is no value of its own
-- reads   tbl, qis, subject, null_policy    as the macros that it is a part of
-- gives   __key (a row of the quasi-identifiers), __rows, __n (what its class counts; NULL: it has
--         none)    one row per combination; none where records count and a NULL is a value

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
      COLUMNS(CAST(qis AS VARCHAR[]))
    FROM query_table(
      __given_counting__
    )
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
                FROM query_table(
                  __given_counting__
                )
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
