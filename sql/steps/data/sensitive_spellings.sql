-- data/sensitive_spellings: the spellings of a sensitive attribute with the number of what they mean
-- reads   __rows__      one row per record: __value__ as written, __meaning__, subject
--         $by_subject   whether subjects count, or records
-- gives   __value__, code (from 0, in the order of the meanings, NULL last), people (who have the
--         meaning)      one row per spelling
SELECT
  __value__,
  CAST(dense_rank() OVER (ORDER BY __meaning__ NULLS LAST) - 1 AS UINTEGER) AS code,
  people
FROM (
  SELECT DISTINCT
    __value__,
    __meaning__,
    people
  FROM (
    SELECT
      __value__,
      __meaning__,
      CASE
        WHEN $by_subject THEN count(DISTINCT subject) OVER alike
        ELSE count(*) OVER alike
      END AS people
    FROM __rows__
    WINDOW alike AS (PARTITION BY __meaning__)
  )
)
