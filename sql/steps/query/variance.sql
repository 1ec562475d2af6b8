-- query/variance: the mean square of the distances from the mean in each group. It is no more than that from
--                 any point, taken of the farthest of the records that may be missing, nor than a quarter
--                 of the range squared; and no less than the least that the records that are certain are
--                 away from any one point, which lies between two ends of their intervals; where little is
--                 left of large squares, less what they may be rounded by. There is none of a sample that is
--                 of one record at most. Each is beyond what computing it record by record may round it
--                 to (Chan, Golub & LeVeque 1983)
-- reads   __items__     as query_items gives them
--         __possible__  __key__, x, mass: the values of the argument with the records expected to have them
-- takes   $less: 1 of a sample, which is divided by one record less, else 0
-- gives   __key__, estimate, lower, upper
WITH centred AS (
  SELECT
    __key__,
    records,
    certain,
    CAST(low AS DOUBLE) AS low,
    CAST(high AS DOUBLE) AS high,
    SUM(records) OVER (PARTITION BY __key__) AS entire,
    SUM(records * (CAST(low AS DOUBLE) + CAST(high AS DOUBLE)) / 2) OVER (PARTITION BY __key__)
      / SUM(records) OVER (PARTITION BY __key__) AS middle
  FROM __items__
)
SELECT
  __key__,
  CASE WHEN estimate IS NOT NULL THEN LEAST(GREATEST(estimate, lower), upper) END AS estimate,
  lower,
  upper
FROM (
  SELECT
    __key__,
    estimate,
    CASE WHEN lower > 0 AND error < lower THEN LEAST(lower, upper) - error WHEN lower IS NOT NULL THEN 0 END AS lower,
    CASE WHEN upper > 0 AND upper < CAST('Infinity' AS DOUBLE) THEN upper + error ELSE upper END AS upper
  FROM (
    SELECT
      __key__,
      MAX(estimate) AS estimate,
      MAX(lower) AS lower,
      MAX(upper) AS upper,
      (MAX(many) + 8) * 1e-15 * (MAX(upper) + SQRT(MAX(upper)) * MAX(size) + (MAX(many) + 8) * 1e-15 * MAX(size) * MAX(size)) AS error
    FROM (
      SELECT
        __key__,
        CASE WHEN SUM(mass) > $less THEN SUM(mass * (x - middle) * (x - middle)) / (SUM(mass) - $less) END AS estimate,
        CAST(NULL AS DOUBLE) AS lower,
        CAST(NULL AS DOUBLE) AS upper,
        CAST(NULL AS DOUBLE) AS many,
        CAST(NULL AS DOUBLE) AS size
      FROM (
        SELECT __key__, x, mass, SUM(mass * x) OVER (PARTITION BY __key__) / SUM(mass) OVER (PARTITION BY __key__) AS middle
        FROM __possible__
        WHERE mass > 0
      ) AS spread
      GROUP BY __key__
      UNION ALL
      SELECT
        __key__,
        CAST(NULL AS DOUBLE) AS estimate,
        CAST(NULL AS DOUBLE) AS lower,
        CASE WHEN MAX(entire) > $less THEN LEAST(
          MAX(GREATEST(
            CASE WHEN sure + taken > $less THEN (sure_squares + taken_squares) / (sure + taken - $less) ELSE 0 END,
            CASE WHEN sure > $less THEN sure_squares / (sure - $less) ELSE 0 END,
            CASE WHEN sure < 2 THEN sure_squares + (2 - sure) * farthest ELSE 0 END
          )),
          (MAX(high) - MIN(low)) * (MAX(high) - MIN(low)) / 4
            * MAX(CASE WHEN $less = 0 THEN 1 WHEN sure < 2 THEN 2 ELSE CAST(sure AS DOUBLE) / (sure - 1) END)
        ) END AS upper,
        MAX(entire) AS many,
        MAX(GREATEST(
          CASE WHEN ABS(low) < CAST('Infinity' AS DOUBLE) THEN ABS(low) ELSE 0 END,
          CASE WHEN ABS(high) < CAST('Infinity' AS DOUBLE) THEN ABS(high) ELSE 0 END
        )) AS size
      FROM (
        SELECT
          __key__,
          entire,
          low,
          high,
          SUM(CASE WHEN certain THEN records ELSE 0 END) OVER (PARTITION BY __key__) AS sure,
          SUM(CASE WHEN certain THEN records * square ELSE 0 END) OVER (PARTITION BY __key__) AS sure_squares,
          MAX(square) OVER (PARTITION BY __key__) AS farthest,
          SUM(CASE WHEN certain THEN 0 ELSE records END) OVER inwards AS taken,
          SUM(CASE WHEN certain THEN 0 ELSE records * square END) OVER inwards AS taken_squares
        FROM (
          SELECT
            __key__,
            records,
            certain,
            entire,
            low,
            high,
            GREATEST((low - middle) * (low - middle), (high - middle) * (high - middle)) AS square
          FROM centred
        ) AS away
        WINDOW
          inwards AS (PARTITION BY __key__ ORDER BY square DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
      ) AS taken
      GROUP BY __key__
      UNION ALL
      SELECT
        __key__,
        CAST(NULL AS DOUBLE) AS estimate,
        CASE
          WHEN MAX(entire) <= $less THEN NULL
          WHEN MIN(away) < CAST('Infinity' AS DOUBLE) THEN GREATEST(MIN(away), 0) / (MAX(entire) - $less)
          ELSE 0
        END AS lower,
        CAST(NULL AS DOUBLE) AS upper,
        CAST(NULL AS DOUBLE) AS many,
        CAST(NULL AS DOUBLE) AS size
      FROM (
        SELECT
          __key__,
          entire,
          CASE WHEN found < size / 1000 THEN found - size * 0.000000000001 ELSE found END AS away
        FROM (
          SELECT
            __key__,
            entire,
            squares - 2 * point * sums + point * point * ends AS found,
            entire_squares + point * point * ends AS size
          FROM (
            SELECT
              __key__,
              entire,
              squares,
              sums,
              ends,
              entire_squares,
              CASE WHEN ends > 0 THEN LEAST(GREATEST(sums / ends, place), beyond) ELSE place END AS point
            FROM (
              SELECT
                __key__,
                entire,
                place,
                COALESCE(
                  MIN(place) OVER (PARTITION BY __key__ ORDER BY place ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING), place
                ) AS beyond,
                SUM(highs) OVER upwards + SUM(lows) OVER (PARTITION BY __key__) - SUM(lows) OVER upwards AS ends,
                SUM(highs * place) OVER upwards + SUM(lows * place) OVER (PARTITION BY __key__) - SUM(lows * place) OVER upwards AS sums,
                SUM(highs * place * place) OVER upwards + SUM(lows * place * place) OVER (PARTITION BY __key__)
                  - SUM(lows * place * place) OVER upwards AS squares,
                SUM((lows + highs) * place * place) OVER (PARTITION BY __key__) AS entire_squares
              FROM (
                SELECT __key__, entire, place, SUM(lows) AS lows, SUM(highs) AS highs
                FROM (
                  SELECT __key__, entire, low - middle AS place, CASE WHEN certain THEN records ELSE 0 END AS lows, 0 AS highs
                  FROM centred
                  UNION ALL
                  SELECT __key__, entire, high - middle AS place, 0 AS lows, CASE WHEN certain THEN records ELSE 0 END AS highs
                  FROM centred
                ) AS events
                GROUP BY __key__, entire, place
              ) AS placed
              WINDOW
                upwards AS (PARTITION BY __key__ ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            ) AS regions
          ) AS pointed
        ) AS rounded
      ) AS distances
      GROUP BY __key__
    ) AS parts
    GROUP BY __key__
  ) AS joined
) AS rounded
