-- t_closeness_ordered: how far the ordered sensitive values of a class are from those of the table
-- reads   tbl            a table, view, CTE or file: one row per record
--         qis            its quasi-identifiers, a list of column names
--         sensitive      the sensitive column, whose values have the places that their type orders
--                        them in; NULL is a value of its own, the last
--         subject        the column that tells whose record it is: distinct values of it count,
--                        and a NULL for nobody; '': every record counts
--         null_policy    what a NULL in a quasi-identifier equals: own_category (NULL) or exclude
--                        (nothing: such a record is in no class); wildcard is refused
-- gives   classes, t (the greatest distance of a class, from 0 to 1)    one row; t is NULL where
--         there is no class, and 1 for a class with nobody in it. The distance is the sum over the
--         values of |cumulative p - cumulative q|, over their number - 1, with the shares p in the
--         class and q in the whole table, excluded records too: the earth mover's, where values are
--         as far apart as their places (Li et al. 2007). A value that nobody has takes no place
-- example FROM deid.t_closeness_ordered('visits', ['sex'], 'age')
CREATE OR REPLACE MACRO deid.t_closeness_ordered(
  tbl, qis, sensitive, subject := '', null_policy := 'own_category'
) AS TABLE
SELECT
  count(*) AS classes,
  max(__t) AS t
FROM (
  SELECT
    -- a class's share stays between two of its values, and the table's grows: the area between
    -- them follows from where they cross. Before the first value the class has no share
    CASE
      WHEN any_value(__size) = 0 THEN 1
      ELSE greatest(0, min(__area_before) + sum(
        __held * (2 * __cross - __before - coalesce(__last, __cross))
        + __area_before + coalesce(__area_last, __area_cross) - 2 * __area_cross
      )) / greatest(max(__places) - 1, 1)
    END AS __t
  FROM (
    SELECT
      class.*,
      whole.__place AS __places,
      greatest(least(coalesce(whole.__place, 0), class.__last), class.__before) AS __cross,
      greatest(least(coalesce(whole.__area, 0), class.__area_last), class.__area_before)
        AS __area_cross
    FROM (
      SELECT
        __key,
        __before,
        __area_before,
        -- the place before the next value; after the last one the share is 1 to the end, which is
        -- then where it meets the table's
        lead(__before) OVER by_value AS __last,
        lead(__area_before) OVER by_value AS __area_last,
        sum(__n) OVER in_class AS __size,
        sum(__n) OVER by_value / sum(__n) OVER in_class AS __held
      FROM (
        SELECT
          __n,
          __before,
          __area_before,
          row(*COLUMNS(
            lambda name:
              name NOT IN ('__before', '__area_before', '__rows', '__n', '__people', '__value')
          )) AS __key
        FROM (
          SELECT
            coalesce(whole.__place - 1, 0) AS __before,
            coalesce(whole.__area - whole.__upto, 0) AS __area_before,
            pair.*
          FROM __class_values__ AS pair
          LEFT JOIN __value_places__ AS whole
            ON whole.__value IS NOT DISTINCT FROM pair.__value
        )
      )
      WINDOW
        in_class AS (PARTITION BY __key),
        by_value AS (
          PARTITION BY __key
          ORDER BY __before
          ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )
    ) AS class
    ASOF LEFT JOIN __value_places__ AS whole
      ON class.__held >= whole.__upto
  )
  GROUP BY __key
);
