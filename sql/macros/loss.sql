-- loss: Iyengar's information loss of a released table, from the hierarchies in deid.hierarchies
-- reads   tbl            the released table, view or file: one row per record
--         qis            its quasi-identifiers, each named like its hierarchy
--         release        whose hierarchies; '' for those loaded by hand
--         levels         MAP {column: level} where a label means different things on two levels
--         source_rows    records before suppression, each of the missing with loss 1; NULL: none
-- gives   loss, records, column_losses    one row: the mean over records and quasi-identifiers, and
--         the mean of each one; NULL has loss 0. An error for a value that is no label
-- example FROM deid.loss('released', ['age'])
CREATE OR REPLACE MACRO deid.loss(
  tbl, qis, release := '', levels := NULL, source_rows := NULL
) AS TABLE
SELECT
  avg(__loss) AS loss,
  CAST(coalesce(any_value(__released), 0) AS BIGINT) AS records,
  map_from_entries(list({'key': __column, 'value': __loss} ORDER BY __column)) AS column_losses
FROM (
  SELECT
    __column,
    sum(__n) AS __released,
    (
      sum(__n * CASE WHEN __cell IS NULL THEN 0 ELSE __most END)
      + coalesce(source_rows, sum(__n)) - sum(__n)
    ) / coalesce(source_rows, sum(__n)) AS __loss
  FROM (
    SELECT
      __n,
      unnest(__names) AS __column,
      unnest(__cells) AS __cell
    FROM (
      -- rows as lists of text: nothing of the table's has a name from here on
      SELECT
        count(*) AS __n,
        struct_keys(struct_pack(*COLUMNS(*))) AS __names,
        list_value(*COLUMNS(*)) AS __cells
      FROM (
        SELECT CAST(COLUMNS(CAST(qis AS VARCHAR[])) AS VARCHAR)
        FROM query_table(coalesce(
          CASE
            WHEN release IS NULL
              THEN error('deid.loss: release must be a name, or left out for none')
            WHEN levels IS NOT NULL AND TRY_CAST(levels AS MAP(VARCHAR, INTEGER)) IS NULL
              THEN error('deid.loss: levels must be a map, such as MAP {''age'': 1}')
            WHEN source_rows IS NOT NULL
              AND NOT coalesce(
                TRY_CAST(CAST(source_rows AS VARCHAR) AS DECIMAL(38, 9)) >= 0
                AND TRY_CAST(CAST(source_rows AS VARCHAR) AS DECIMAL(38, 9)) % 1 = 0,
                false
              )
              THEN error('deid.loss: source_rows must be a number of records, 0 or more')
          END,
          __given_qis__
        ))
      )
      GROUP BY ALL
    )
  )
  LEFT JOIN (
    SELECT
      __hierarchy,
      __label,
      min(__one) AS __least,
      max(__one) AS __most
    FROM (
      SELECT
        lower(h.hierarchy) AS __hierarchy,
        unnest([h.label, h.label || '@' || h.level]) AS __label,
        h.loss AS __one
      FROM deid.hierarchies AS h
      WHERE h.release = release
        AND h.level = coalesce(
          map_extract_value(CAST(levels AS MAP(VARCHAR, INTEGER)), h.hierarchy), h.level
        )
    )
    GROUP BY __hierarchy, __label
  )
    ON __hierarchy = lower(__column)
    AND __label = __cell
  WHERE CASE
    WHEN __cell IS NULL OR __least = __most THEN true
    WHEN __least IS NULL THEN error(concat(
      'deid.loss: ', __column, ' has a value that is no label of its hierarchy, or has none'
    ))
    ELSE error(concat(
      'deid.loss: ', __column, ' has a label that means different things on different levels: ',
      'say which in levels'
    ))
  END
  GROUP BY __column
  HAVING CASE
    WHEN coalesce(source_rows, sum(__n)) >= sum(__n) THEN true
    ELSE error('deid.loss: source_rows is less than the records of the release')
  END
);
