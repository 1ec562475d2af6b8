-- lca: the label of the lowest common ancestor of some values in a hierarchy of deid.hierarchies
-- reads   hierarchy    its name, or release.name where several releases have one of that name
--         leaves       a list of values of the column, compared as text
-- gives   VARCHAR, the label at the lowest level where all have the same; NULL for no values and
--         where all are NULL; NULL and a value meet at the top. An error for a value without a
--         label, an unknown hierarchy and an ambiguous name
-- example SELECT deid.lca('age', [23, 37])  -- [20, 40)
CREATE OR REPLACE MACRO deid.lca(hierarchy, leaves) AS
CASE
  WHEN leaves IS NOT NULL AND TRY_CAST(leaves AS VARCHAR[]) IS NULL
    THEN error('deid.lca: leaves must be a list of values, such as [23, 37]')
  ELSE list_transform([(
    SELECT
      struct_pack(
        asked := asked.__q,
        is_known := tree.name IS NOT NULL,
        found := found.leaves,
        is_ambiguous := found.is_ambiguous,
        label := found.label
      )
    -- the arguments stand in a SELECT without FROM, in one struct: there no column of
    -- deid.hierarchies and no alias can be taken for a column of the caller
    FROM (
      SELECT
        struct_pack(
          hierarchy := CAST(hierarchy AS VARCHAR),
          -- list_distinct drops NULL
          leaves := list_distinct(TRY_CAST(leaves AS VARCHAR[])),
          has_null := len(TRY_CAST(leaves AS VARCHAR[])) > list_count(TRY_CAST(leaves AS VARCHAR[]))
        ) AS __q
    ) AS asked
    LEFT JOIN (
      SELECT DISTINCT
        unnest([h.hierarchy, h.release || '.' || h.hierarchy]) AS name
      FROM deid.hierarchies AS h
    ) AS tree
      ON tree.name = asked.__q.hierarchy
    LEFT JOIN LATERAL (
      SELECT
        max(step.leaves) AS leaves,
        bool_or(step.is_ambiguous) AS is_ambiguous,
        arg_min(step.label, step.level) FILTER (
          WHERE step.labels = 1 AND step.leaves = len(asked.__q.leaves)
        ) AS label
      FROM (
        SELECT
          one.level,
          count(*) AS leaves,
          count(DISTINCT one.first_label) AS labels,
          min(one.first_label) AS label,
          bool_or(one.first_label <> one.last_label) AS is_ambiguous
        FROM (
          SELECT
            h.level,
            h.value AS leaf,
            min(h.label) AS first_label,
            max(h.label) AS last_label
          FROM deid.hierarchies AS h
          WHERE asked.__q.hierarchy IN (h.hierarchy, h.release || '.' || h.hierarchy)
            AND list_contains(asked.__q.leaves, h.value)
          GROUP BY h.level, h.value
        ) AS one
        GROUP BY one.level
      ) AS step
    ) AS found
      ON true
  )],
  -- errors are raised outside the subquery: error() is volatile, and a subquery with it runs for
  -- every row instead of once for every distinct value
  -- found['x'], for found.x would be a column of the caller's table found, if there is one
  lambda found: CASE
    WHEN NOT found['is_known'] THEN error(concat(
      'deid.lca: no hierarchy ', found['asked']['hierarchy'], ' in deid.hierarchies'
    ))
    WHEN coalesce(len(found['asked']['leaves']), 0) = 0 THEN NULL
    WHEN coalesce(found['found'], 0) < len(found['asked']['leaves']) THEN error(concat(
      'deid.lca: hierarchy ', found['asked']['hierarchy'], ' lacks one of the values'
    ))
    WHEN found['is_ambiguous'] THEN error(concat(
      'deid.lca: hierarchy ', found['asked']['hierarchy'], ' is ambiguous, releases differ: ',
      'use release.hierarchy'
    ))
    WHEN found['asked']['has_null'] THEN '*'
    -- a hierarchy without a single top has no ancestor of all its values
    WHEN found['label'] IS NULL THEN error(concat(
      'deid.lca: hierarchy ', found['asked']['hierarchy'], ' has no single top'
    ))
    ELSE found['label']
  END)[1]
END;
