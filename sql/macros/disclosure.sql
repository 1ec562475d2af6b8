-- disclosure: what the classes tell of a sensitive value without finding whose record is whose
-- reads   tbl            a table, view, CTE or file: one row per record
--         qis            its quasi-identifiers, a list of column names
--         sensitive      the sensitive column; NULL is a value of its own
--         subject        the column that tells whose record it is: distinct values of it count,
--                        and a NULL for nobody; '': every record counts
--         null_policy    what a NULL in a quasi-identifier equals: own_category (NULL) or exclude
--                        (nothing: such a record is in no class); wildcard is refused
-- gives   classes, homogeneous_classes, homogeneous_records (all have one value, which is then
--         known: distinct l is 1), background_classes, background_records (two values, so that who
--         can rule one out knows the other: l is 2), diverse_classes, diverse_records (l is 3 or
--         more), homogeneous_share (of the records that are in a class), largest_confidence (the
--         greatest share of a class that has the same value)    one row; the last two are NULL
--         where there is no class. l counts as in deid.l_diversity; a class with nobody in it is
--         homogeneous, and of confidence 1
-- example FROM deid.disclosure('visits', ['sex'], 'diagnosis')
CREATE OR REPLACE MACRO deid.disclosure(
  tbl, qis, sensitive, subject := '', null_policy := 'own_category'
) AS TABLE
SELECT
  count(*) AS classes,
  count(*) FILTER (__distinct <= 1) AS homogeneous_classes,
  CAST(coalesce(sum(__records) FILTER (__distinct <= 1), 0) AS BIGINT) AS homogeneous_records,
  count(*) FILTER (__distinct = 2) AS background_classes,
  CAST(coalesce(sum(__records) FILTER (__distinct = 2), 0) AS BIGINT) AS background_records,
  count(*) FILTER (__distinct >= 3) AS diverse_classes,
  CAST(coalesce(sum(__records) FILTER (__distinct >= 3), 0) AS BIGINT) AS diverse_records,
  sum(CASE WHEN __distinct <= 1 THEN __records ELSE 0 END) / sum(__records) AS homogeneous_share,
  max(CASE WHEN __size = 0 THEN 1 ELSE __most / __size END) AS largest_confidence
FROM (
  SELECT
    __records,
    __most,
    __size,
    CASE WHEN __most = __size THEN 1 ELSE least(__values, __size) END AS __distinct
  FROM (
    SELECT
      sum(__rows) AS __records,
      max(__n) AS __most,
      count(*) FILTER (__n > 0) AS __values,
      CASE
        WHEN subject = '' THEN CAST(sum(__n) AS BIGINT)
        ELSE len(list_distinct(flatten(list(__people))))
      END AS __size,
      COLUMNS(lambda name: name NOT IN ('__rows', '__n', '__people', '__value'))
    FROM __class_values__
    GROUP BY ALL
  )
);
