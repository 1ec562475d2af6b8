-- query/quantile: the value of a rank in each group, and between which values it lies: it is least where
--                 all records that may be missing and are no greater are there, and no others. What lies
--                 between two values is computed in floating point, by a share that grows with the rank
-- reads   __items__     as query_items gives them
--         __possible__  __key__, x, mass: the values of the argument with the records expected to have them
-- takes   $share of $whole: which quantile; $below and $above: what rounds its rank among n records down,
--         (n * $share + $below) // $whole, and up; $between: whether it lies between two values; $rounds: 1
--         where that is computed in floating point, else 0
-- gives   __key__, estimate, lower, upper
SELECT
  __key__,
  CASE WHEN MAX(estimate) IS NOT NULL THEN LEAST(GREATEST(MAX(estimate), MAX(lower)), MAX(upper)) END AS estimate,
  MAX(lower) AS lower,
  MAX(upper) AS upper
FROM (
  SELECT
    __key__,
    CAST(NULL AS DOUBLE) AS estimate,
    CASE
      WHEN $between AND MAX(doubtful) = 0 AND MAX(part) = 0 THEN MAX(first_low)
      WHEN $between AND MAX(doubtful) = 0
        THEN MAX(first_low) + (MAX(next_low) - MAX(first_low)) * MAX(part)
          - CASE WHEN $rounds = 0 THEN 0
              WHEN MAX(part) * 1024 = FLOOR(MAX(part) * 1024)
              AND MAX(first_low) * 1024 = FLOOR(MAX(first_low) * 1024)
              AND MAX(next_low) * 1024 = FLOOR(MAX(next_low) * 1024) THEN 0
              ELSE (ABS(MAX(first_low)) + ABS(MAX(next_low))) * (MAX(sure) + 8) * 2.3e-16 END
      ELSE MIN(least)
    END AS lower,
    CASE
      WHEN $between AND MAX(doubtful) = 0 AND MAX(part) = 0 THEN MAX(first_high)
      WHEN $between AND MAX(doubtful) = 0
        THEN MAX(first_high) + (MAX(next_high) - MAX(first_high)) * MAX(part)
          + CASE WHEN $rounds = 0 THEN 0
              WHEN MAX(part) * 1024 = FLOOR(MAX(part) * 1024)
              AND MAX(first_high) * 1024 = FLOOR(MAX(first_high) * 1024)
              AND MAX(next_high) * 1024 = FLOOR(MAX(next_high) * 1024) THEN 0
              ELSE (ABS(MAX(first_high)) + ABS(MAX(next_high))) * (MAX(sure) + 8) * 2.3e-16 END
      ELSE MAX(greatest)
    END AS upper
  FROM (
    SELECT
      __key__,
      sure,
      doubtful,
      CAST(((sure - 1) * $share) % $whole AS DOUBLE) / $whole AS part,
      CASE
        WHEN low_upto + low_doubtful >= GREATEST(1, ((sure + low_doubtful) * $share + $below) // $whole) THEN low
      END AS least,
      CASE
        WHEN sure - high_from < GREATEST(1, ((sure + high_doubtful) * $share + $above) // $whole) THEN high
      END AS greatest,
      CASE
        WHEN low_upto - low_same < first_rank AND first_rank <= low_upto THEN low
      END AS first_low,
      CASE
        WHEN low_upto - low_same < first_rank + 1 AND first_rank + 1 <= low_upto THEN low
      END AS next_low,
      CASE
        WHEN sure - high_from < first_rank AND first_rank <= sure - high_from + high_same THEN high
      END AS first_high,
      CASE
        WHEN sure - high_from < first_rank + 1 AND first_rank + 1 <= sure - high_from + high_same THEN high
      END AS next_high
    FROM (
      SELECT
        __key__,
        low,
        high,
        sure,
        doubtful,
        ((sure - 1) * $share) // $whole + 1 AS first_rank,
        low_upto,
        low_doubtful,
        low_same,
        high_from,
        high_doubtful,
        high_same
      FROM (
        SELECT
          __key__,
          CAST(low AS DOUBLE) AS low,
          CAST(high AS DOUBLE) AS high,
          CAST(SUM(CASE WHEN certain THEN records ELSE 0 END) OVER (PARTITION BY __key__) AS BIGINT) AS sure,
          CAST(SUM(CASE WHEN certain THEN 0 ELSE records END) OVER (PARTITION BY __key__) AS BIGINT) AS doubtful,
          CAST(SUM(CASE WHEN certain THEN records ELSE 0 END) OVER upwards AS BIGINT) AS low_upto,
          CAST(SUM(CASE WHEN certain THEN 0 ELSE records END) OVER upwards AS BIGINT) AS low_doubtful,
          CAST(SUM(CASE WHEN certain THEN records ELSE 0 END) OVER (PARTITION BY __key__, low) AS BIGINT) AS low_same,
          CAST(SUM(CASE WHEN certain THEN records ELSE 0 END) OVER downwards AS BIGINT) AS high_from,
          CAST(SUM(CASE WHEN certain THEN 0 ELSE records END) OVER downwards AS BIGINT) AS high_doubtful,
          CAST(SUM(CASE WHEN certain THEN records ELSE 0 END) OVER (PARTITION BY __key__, high) AS BIGINT) AS high_same
        FROM __items__
        WINDOW
          upwards AS (PARTITION BY __key__ ORDER BY low RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
          downwards AS (PARTITION BY __key__ ORDER BY high DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
      ) AS counted
    ) AS placed
  ) AS ranked
  GROUP BY __key__
  UNION ALL
  SELECT
    __key__,
    MIN(CASE WHEN upto >= entire * ($share - 0.000000001) / $whole THEN x END) AS estimate,
    CAST(NULL AS DOUBLE) AS lower,
    CAST(NULL AS DOUBLE) AS upper
  FROM (
    SELECT
      __key__,
      x,
      SUM(mass) OVER (PARTITION BY __key__ ORDER BY x RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS upto,
      SUM(mass) OVER (PARTITION BY __key__) AS entire
    FROM __possible__
    WHERE mass > 0
  ) AS summed
  GROUP BY __key__
) AS parts
GROUP BY __key__
