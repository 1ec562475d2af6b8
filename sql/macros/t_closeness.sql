-- t_closeness: how far the sensitive values of a class are from those of the whole table
-- reads   tbl            a table, view, CTE or file: one row per record
--         qis            its quasi-identifiers, a list of column names
--         sensitive      the sensitive column; NULL is a value of its own
--         subject        the column that tells whose record it is: distinct values of it count,
--                        and a NULL for nobody; '': every record counts
--         null_policy    what a NULL in a quasi-identifier equals: own_category (NULL) or exclude
--                        (nothing: such a record is in no class); wildcard is refused
-- gives   classes, t (the greatest distance of a class, from 0 to 1)    one row; t is NULL where
--         there is no class, and 1 for a class with nobody in it. The distance is half the sum of
--         |p - q|, with the shares p of the values in the class and q in the whole table, excluded
--         records too: the earth mover's, where all values are as far apart (Li et al. 2007)
-- example FROM deid.t_closeness('visits', ['sex'], 'diagnosis')
CREATE OR REPLACE MACRO deid.t_closeness(
  tbl, qis, sensitive, subject := '', null_policy := 'own_category'
) AS TABLE
SELECT
  count(*) AS classes,
  max(CASE
    WHEN __pairs = 0 THEN 1
    -- what the class has too much of is what it has too little of others
    ELSE list_sum(list_transform(
      list_zip(__counts, __shares),
      lambda pair: greatest(pair[1] / __pairs - pair[2], 0)
    ))
  END) AS t
FROM (
  SELECT
    sum(__n) AS __pairs,
    list(__n) AS __counts,
    list(__share) AS __shares,
    COLUMNS(lambda name: name NOT IN ('__share', '__rows', '__n', '__people', '__value'))
  FROM (
    SELECT
      whole.__share,
      pair.*
    FROM __class_values__ AS pair
    JOIN (
      SELECT
        __n / sum(__n) OVER () AS __share,
        __value
      FROM __all_values__
    ) AS whole
      ON whole.__value IS NOT DISTINCT FROM pair.__value
  )
  GROUP BY ALL
);
