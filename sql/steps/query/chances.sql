-- query/chances: for each value of each group the chance that it is the first in order, given that
--                the group has one: up to a place no record has come with the product over the
--                records of their chances of coming later or never
-- reads   __outcomes__   item, __key__, x, place (of x in the order asked for), records, weight, mass
-- gives   __key__, x, place, chance, reached (the sum of the chances so far)
SELECT
  __key__,
  x,
  place,
  (before - after) / (1 - least_left) AS chance,
  (1 - after) / (1 - least_left) AS reached
FROM (
  SELECT
    __key__,
    x,
    place,
    EXP(passed - step) AS before,
    EXP(passed) AS after,
    EXP(MIN(passed) OVER (PARTITION BY __key__)) AS least_left
  FROM (
    SELECT
      __key__,
      x,
      place,
      step,
      SUM(step) OVER (PARTITION BY __key__ ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS passed
    FROM (
      SELECT
        __key__,
        place,
        ANY_VALUE(x) AS x,
        SUM(records * (LN(left_after) - LN(left_before))) AS step
      FROM (
        SELECT
          __key__,
          x,
          place,
          records,
          GREATEST(1 - come, 1e-300) AS left_after,
          GREATEST(1 - come + coming, 1e-300) AS left_before
        FROM (
          SELECT
            __key__,
            x,
            place,
            records,
            weight * mass AS coming,
            SUM(weight * mass) OVER (
              PARTITION BY item, __key__ ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS come
          FROM __outcomes__
        ) AS coming
      ) AS staying
      GROUP BY __key__, place
    ) AS steps
  ) AS passing
) AS chances
WHERE least_left < 1
