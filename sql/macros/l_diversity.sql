-- l_diversity: how many sensitive values the classes have, in the three senses of l-diversity
-- reads   tbl            a table, view, CTE or file: one row per record
--         qis            its quasi-identifiers, a list of column names
--         sensitive      the sensitive column; NULL is a value of its own
--         subject        the column that tells whose record it is: distinct values of it count,
--                        and a NULL for nobody; '': every record counts
--         null_policy    what a NULL in a quasi-identifier equals: own_category (NULL) or exclude
--                        (nothing: such a record is in no class); wildcard is refused
-- gives   classes, smallest_class, distinct_l, entropy_l (the least exp(entropy) of a class, not
--         rounded), recursive_c (the table is recursive (c, l)-diverse for l = distinct_l and every
--         c above it)    one row; NULL where there is no class. No l exceeds the subjects of a
--         class; it is 1 where some value is that of all of them, for it is then known of each,
--         and 0, with an infinite c, where nobody is in a class (Machanavajjhala et al. 2007)
-- example FROM deid.l_diversity('visits', ['sex'], 'diagnosis')
CREATE OR REPLACE MACRO deid.l_diversity(
  tbl, qis, sensitive, subject := '', null_policy := 'own_category'
) AS TABLE
SELECT
  count(*) AS classes,
  min(__size) AS smallest_class,
  min(__distinct) AS distinct_l,
  min(CASE
    WHEN __distinct <= 1 THEN __distinct
    -- exact, which exp(ln(3)) is not
    WHEN __counts[1] = __counts[-1] THEN __distinct
    ELSE least(exp(ln(__pairs) - __weighted / __pairs), __size)
  END) AS entropy_l,
  max(CASE
    WHEN __size = 0 THEN CAST('Infinity' AS DOUBLE)
    ELSE __counts[1] / list_sum(__counts[greatest(__l, 1):])
  END) AS recursive_c
FROM (
  SELECT
    *,
    min(__distinct) OVER () AS __l
  FROM (
    SELECT
      __size,
      __counts,
      __pairs,
      __weighted,
      CASE
        WHEN __size = 0 THEN 0
        WHEN __counts[1] = __size THEN 1
        ELSE least(len(__counts), __size)
      END AS __distinct
    FROM (
      SELECT
        list_reverse_sort(list(__n) FILTER (__n > 0)) AS __counts,
        sum(__n) AS __pairs,
        sum(__n * ln(greatest(__n, 1))) AS __weighted,
        CASE
          WHEN subject = '' THEN CAST(sum(__n) AS BIGINT)
          ELSE len(list_distinct(flatten(list(__people))))
        END AS __size,
        COLUMNS(lambda name: name NOT IN ('__rows', '__n', '__people', '__value'))
      FROM __class_values__
      GROUP BY ALL
    )
  )
);
