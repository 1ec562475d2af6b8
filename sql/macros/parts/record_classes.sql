-- record_classes: the classes where records count, and a NULL is a value of its own
-- reads   tbl, qis, subject, null_policy    as the macros that it is a part of
-- gives   __n (records), the quasi-identifiers    one row per class; none where subjects count, or
--         under another policy: see policy_classes

SELECT
  count(*) AS __n,
  COLUMNS(CAST(qis AS VARCHAR[]))
FROM query_table(
  __given_counting__
)
WHERE subject = '' AND null_policy = 'own_category'
GROUP BY ALL
