-- verify/hierarchy_gaps: values of the source that no single path of a hierarchy leads up to one top from
-- reads   __whole__   one row per value: place
--         __nodes__   one row per value and level: place, level, node
-- gives   gaps        one row; a node with two parents is on no single path
WITH edges AS (
  SELECT
    place,
    level,
    node,
    lead(node) OVER (PARTITION BY place ORDER BY level) AS parent
  FROM __nodes__
),
judged AS (
  SELECT
    *,
    min(parent) OVER (PARTITION BY level, node) IS DISTINCT FROM max(parent) OVER (PARTITION BY level, node) AS torn
  FROM edges
),
paths AS (
  SELECT
    place,
    count(*) AS levels,
    count(DISTINCT level) AS different,
    max(level) AS top,
    arg_max(node, level) AS root,
    bool_or(torn) AS torn
  FROM judged
  GROUP BY place
)
SELECT
  (SELECT count(*) FROM __whole__) - count(*) FILTER (
    WHERE levels = top AND different = top AND NOT torn AND root = (SELECT min(root) FROM paths)
  ) AS gaps
FROM paths
