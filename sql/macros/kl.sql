-- kl: the Kullback-Leibler divergence of an estimated distribution from the true one, in nats
-- reads   truth       a table, view, CTE or file: one row per record
--         estimate    another, such as a release; its number of records may differ
--         cols        the columns whose joint distribution is compared, of the same names in both
-- gives   kl, combinations (of truth), missing (of them in estimate)    one row: the sum over the
--         combinations of p ln(p / q); 0 where the shares are equal, infinite where one is missing,
--         NULL where truth is empty. NULL is a value of its own; columns of two types are compared
--         in the type that holds both, numbers and text as text (Kullback and Leibler 1951)
-- example FROM deid.kl('visits', 'released', ['sex'])
CREATE OR REPLACE MACRO deid.kl(truth, estimate, cols) AS TABLE
SELECT
  CASE
    WHEN count(*) FILTER (__true > 0) = 0 THEN NULL
    WHEN count(*) FILTER (__true > 0 AND __estimated = 0) > 0 THEN CAST('Infinity' AS DOUBLE)
    ELSE greatest(
      0,
      -- 1 for 0, which then adds nothing: older DuckDB takes the logarithm of what FILTER drops
      sum(__true * ln(greatest(__true, 1) / greatest(__estimated, 1))) / sum(__true)
      + ln(sum(__estimated) / sum(__true))
    )
  END AS kl,
  count(*) FILTER (__true > 0) AS combinations,
  count(*) FILTER (__true > 0 AND __estimated = 0) AS missing
FROM (
  SELECT
    count(*) FILTER (__of_truth) AS __true,
    count(*) FILTER (NOT __of_truth) AS __estimated,
    COLUMNS(lambda name: name <> '__of_truth')
  FROM (
    SELECT *
    FROM (
      SELECT
        true AS __of_truth,
        COLUMNS(CAST(cols AS VARCHAR[]))
      FROM query_table(coalesce(
        CASE
          WHEN NOT coalesce(len(TRY_CAST(cols AS VARCHAR[])) > 0, false)
            OR len(TRY_CAST(cols AS VARCHAR[])) > list_count(TRY_CAST(cols AS VARCHAR[]))
            THEN error('deid.kl: cols must be a list of column names, such as [''age'', ''sex'']')
        END,
        truth,
        error('deid.kl: truth must be the name of a table, view, CTE or file')
      ))
    )
    UNION ALL BY NAME
    SELECT *
    FROM (
      SELECT
        false AS __of_truth,
        COLUMNS(CAST(cols AS VARCHAR[]))
      FROM query_table(coalesce(
        estimate,
        error('deid.kl: estimate must be the name of a table, view, CTE or file')
      ))
    )
  )
  GROUP BY ALL
);
