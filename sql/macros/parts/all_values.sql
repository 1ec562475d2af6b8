-- all_values: how many have each sensitive value of the whole table
-- reads   tbl, qis, sensitive, subject    as the macros that it is a part of
-- gives   __n (records with the value, or subjects), __value    one row per value

SELECT
  CASE
    WHEN subject = '' THEN count(*)
    -- not count(DISTINCT): DuckDB would count them even where there is no subject
    ELSE len(list_distinct(list(__who)))
  END AS __n,
  __value
FROM (
  SELECT
    COLUMNS([CASE
      WHEN subject = '' THEN CAST(qis AS VARCHAR[])[1]
      ELSE CAST(subject AS VARCHAR)
    END]) AS __who,
    COLUMNS([CAST(sensitive AS VARCHAR)]) AS __value
  FROM query_table(
    __given_sensitive__
  )
)
GROUP BY ALL
