-- generalize: the label of a value at a level of a hierarchy stored in deid.hierarchies
-- reads   value        a value of the column, compared as text
--         hierarchy    its name, or release.name where several releases have one of that name
--         level        0 is the value itself, the top is '*'
-- gives   VARCHAR; NULL stays NULL below the top and is '*' at the top; an error for a value
--         without a label, an unknown hierarchy or level, and an ambiguous name
-- example SELECT deid.generalize(37, 'age', 1)  -- [20, 40)
CREATE OR REPLACE MACRO deid.generalize(value, hierarchy, level) AS
list_transform([(
  SELECT
    struct_pack(
      label := CASE
        WHEN asked.__q.value IS NULL AND step.always_top THEN '*'
        WHEN asked.__q.value IS NOT NULL THEN known.first_label
      END,
      wrong := CASE
        WHEN step.name IS NULL THEN concat(
          'deid.generalize: no hierarchy ', asked.__q.hierarchy, ' with a level ',
          coalesce(asked.__q.level, 'NULL'), ' in deid.hierarchies'
        )
        WHEN asked.__q.value IS NULL AND (step.always_top OR NOT step.ever_top) THEN NULL
        WHEN asked.__q.value IS NULL OR known.first_label <> known.last_label THEN concat(
          'deid.generalize: hierarchy ', asked.__q.hierarchy, ' is ambiguous at level ',
          asked.__q.level, ', releases differ: use release.hierarchy'
        )
        WHEN known.first_label IS NULL THEN concat(
          'deid.generalize: hierarchy ', asked.__q.hierarchy, ' has no label at level ',
          asked.__q.level, ' for a value of the column'
        )
      END
    )
  -- the arguments stand in a SELECT without FROM, in one struct: there no column of
  -- deid.hierarchies and no alias can be taken for a column of the caller
  FROM (
    SELECT
      struct_pack(
        value := CAST(value AS VARCHAR),
        hierarchy := CAST(hierarchy AS VARCHAR),
        level := CAST(level AS VARCHAR)
      ) AS __q
  ) AS asked
  LEFT JOIN (
    SELECT
      one.name,
      CAST(one.level AS VARCHAR) AS at_level,
      bool_and(one.level = one.top) AS always_top,
      bool_or(one.level = one.top) AS ever_top
    FROM (
      SELECT DISTINCT
        unnest([h.hierarchy, h.release || '.' || h.hierarchy]) AS name,
        h.release,
        h.level,
        max(h.level) OVER (PARTITION BY h.release, h.hierarchy) AS top
      FROM deid.hierarchies AS h
    ) AS one
    GROUP BY one.name, one.level
  ) AS step
    ON step.name = asked.__q.hierarchy
    AND step.at_level = asked.__q.level
  LEFT JOIN (
    SELECT
      one.name,
      CAST(one.level AS VARCHAR) AS at_level,
      one.leaf,
      min(one.label) AS first_label,
      max(one.label) AS last_label
    FROM (
      SELECT
        unnest([h.hierarchy, h.release || '.' || h.hierarchy]) AS name,
        h.level,
        h.value AS leaf,
        h.label
      FROM deid.hierarchies AS h
    ) AS one
    GROUP BY one.name, one.level, one.leaf
  ) AS known
    ON known.name = asked.__q.hierarchy
    AND known.at_level = asked.__q.level
    AND known.leaf = asked.__q.value
)],
-- errors are raised outside the subquery: error() is volatile, and a subquery with it runs for
-- every row instead of once for every distinct value; and no more leaves it than has to be joined
-- to every row
-- found['x'], for found.x would be a column of the caller's table found, if there is one
lambda found: CASE
  WHEN found['wrong'] IS NOT NULL THEN error(found['wrong'])
  ELSE found['label']
END)[1];
