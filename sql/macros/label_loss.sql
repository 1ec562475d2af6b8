-- label_loss: Iyengar's loss of a label in a hierarchy stored in deid.hierarchies
-- reads   hierarchy    its name, or release.name where several releases have one of that name
--         label        a released label; label@level where it means different things on two levels
-- gives   DOUBLE from 0 (the value itself) to 1 (the top); 0 for NULL; an error for an unknown
--         hierarchy or label, and for one that is ambiguous
-- example SELECT deid.label_loss('age', '*')  -- 1.0
CREATE OR REPLACE MACRO deid.label_loss(hierarchy, label) AS
list_transform([(
  SELECT
    struct_pack(
      loss := CASE WHEN asked.__q.label IS NULL THEN 0 ELSE known.most END,
      wrong := CASE
        WHEN tree.name IS NULL THEN concat(
          'deid.label_loss: no hierarchy ', asked.__q.hierarchy, ' in deid.hierarchies'
        )
        WHEN asked.__q.label IS NULL THEN NULL
        WHEN known.least IS NULL THEN concat(
          'deid.label_loss: hierarchy ', asked.__q.hierarchy, ' has no such label'
        )
        WHEN known.least <> known.most THEN concat(
          'deid.label_loss: hierarchy ', asked.__q.hierarchy, ' has the label with several ',
          'meanings: use label@level, or release.hierarchy'
        )
      END
    )
  -- the arguments stand in a SELECT without FROM, in one struct: there no column of
  -- deid.hierarchies and no alias can be taken for a column of the caller
  FROM (
    SELECT
      struct_pack(
        hierarchy := CAST(hierarchy AS VARCHAR),
        label := CAST(label AS VARCHAR)
      ) AS __q
  ) AS asked
  LEFT JOIN (
    SELECT DISTINCT
      unnest([h.hierarchy, h.release || '.' || h.hierarchy]) AS name
    FROM deid.hierarchies AS h
  ) AS tree
    ON tree.name = asked.__q.hierarchy
  LEFT JOIN (
    SELECT
      two.name,
      two.spelled,
      min(two.loss) AS least,
      max(two.loss) AS most
    FROM (
      SELECT
        one.name,
        unnest([one.label, one.label || '@' || one.level]) AS spelled,
        one.loss
      FROM (
        SELECT DISTINCT
          unnest([h.hierarchy, h.release || '.' || h.hierarchy]) AS name,
          h.label,
          h.level,
          h.loss
        FROM deid.hierarchies AS h
      ) AS one
    ) AS two
    GROUP BY two.name, two.spelled
  ) AS known
    ON known.name = asked.__q.hierarchy
    AND known.spelled = asked.__q.label
)],
-- errors are raised outside the subquery: error() is volatile, and a subquery with it runs for
-- every row instead of once for every distinct value; and no more leaves it than has to be joined
-- to every row
-- found['x'], for found.x would be a column of the caller's table found, if there is one
lambda found: CASE
  WHEN found['wrong'] IS NOT NULL THEN error(found['wrong'])
  ELSE found['loss']
END)[1];
