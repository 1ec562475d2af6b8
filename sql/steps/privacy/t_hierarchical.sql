-- privacy/t_hierarchical: the greatest distance of a class's distribution to the source's over a hierarchy
-- reads   __shares__   one row per class and value: class, count, pairs, place, total
--         __whole__    one row per value of the source: place, known
--         __nodes__    one row per value and level above: place, level, node
-- gives   t            one row; NULL for an empty table
--
-- Two values are as far apart as their lowest common ancestor is high, so that a path leads over
-- one node and back on every level below it. What has to leave or enter a node is the difference of
-- its shares: the distance is the mean over these levels of that where all nodes are as far apart.
WITH levels AS (
  SELECT place, 0 AS level, CAST(place AS VARCHAR) AS node
  FROM __whole__
  UNION ALL
  SELECT place, level, node
  FROM __nodes__
  WHERE level < (SELECT max(level) FROM __nodes__)
),
tree AS (
  SELECT
    levels.place,
    levels.level,
    levels.node,
    sum(whole.known) OVER (PARTITION BY levels.level, levels.node) AS known
  FROM levels
  JOIN __whole__ AS whole
    ON whole.place = levels.place
),
present AS (
  SELECT
    shares.class,
    tree.level,
    any_value(tree.known) AS known,
    sum(shares.count) AS count,
    any_value(shares.pairs) AS pairs,
    any_value(shares.total) AS total
  FROM __shares__ AS shares
  JOIN tree
    ON tree.place = shares.place
  GROUP BY shares.class, tree.level, tree.node
)
SELECT max(distance) AS t
FROM (
  SELECT
    -- half the sum of |p - q| of each level, as in t_equal
    (
      sum(abs(count * total - known * pairs))
      + any_value(pairs) * (any_value(total) * count(DISTINCT level) - sum(known))
    ) / (2 * any_value(pairs) * any_value(total) * count(DISTINCT level)) AS distance
  FROM present
  GROUP BY class
)
