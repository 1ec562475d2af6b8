-- class_values: how many have each sensitive value of a class
-- reads   tbl, qis, sensitive, subject, null_policy    as the macros that it is a part of
-- gives   __rows, __n (records with the value, or subjects), __people (these), __value, the
--         quasi-identifiers    one row per class and value

-- the values of each class: records with one, or subjects
SELECT
  count(*) AS __rows,
  CASE
    WHEN subject = '' THEN count(*)
    -- not count(DISTINCT): DuckDB would count them even where there is no subject
    ELSE len(list_distinct(list(__who)))
  END AS __n,
  list_distinct(list(__who)) AS __people,
  COLUMNS(lambda name: name <> '__who')
FROM (
  SELECT
    COLUMNS([CASE
      WHEN subject = '' THEN CAST(qis AS VARCHAR[])[1]
      ELSE CAST(subject AS VARCHAR)
    END]) AS __who,
    COLUMNS([CAST(sensitive AS VARCHAR)]) AS __value,
    COLUMNS(CAST(qis AS VARCHAR[]))
  FROM query_table(
    __given_sensitive__
  )
  WHERE null_policy = 'own_category' OR COLUMNS(CAST(qis AS VARCHAR[])) IS NOT NULL
)
GROUP BY ALL
