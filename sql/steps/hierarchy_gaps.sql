-- hierarchy_gaps: values of the source that no single path of a hierarchy leads up to one top from
-- reads   __whole__   one row per value: place
--         __nodes__   one row per value and level: place, level, node
-- gives   gaps        one row
WITH paths AS (
  SELECT
    place,
    count(*) AS levels,
    count(DISTINCT level) AS different,
    max(level) AS top,
    arg_max(node, level) AS root
  FROM __nodes__
  GROUP BY place
)
SELECT
  (SELECT count(*) FROM __whole__) - count(*) FILTER (
    WHERE levels = top AND different = top AND root = (SELECT min(root) FROM paths)
  ) AS gaps
FROM paths
