-- t_hierarchical: the greatest distance of a class's distribution to the source's over a hierarchy
-- reads   __shares__   one row per class and value: class, count, pairs, place, known, total
--         __whole__    one row per value of the source: place, known
--         __nodes__    one row per value and level above: place, level, node
-- gives   t            one row; NULL for an empty table
--
-- Li et al. 2007, section 4.3: under each node the lesser of what its children have too much and
-- too little is moved between them, as far as the node is high; the rest is moved further up.
WITH edges AS (
  SELECT
    place,
    level AS height,
    dense_rank() OVER (ORDER BY level, node) AS parent,
    lag(node, 1, CAST(place AS VARCHAR)) OVER (PARTITION BY place ORDER BY level) AS child
  FROM __nodes__
),
tree AS (
  SELECT
    edges.place,
    edges.height,
    edges.parent,
    edges.child,
    sum(whole.known) OVER (PARTITION BY edges.height, edges.child) AS child_known,
    sum(whole.known) OVER (PARTITION BY edges.parent) AS parent_known
  FROM edges
  JOIN __whole__ AS whole
    ON whole.place = edges.place
),
children AS (
  -- a child of which the class has nothing has not too much of it either
  SELECT
    shares.class,
    tree.height,
    tree.parent,
    any_value(tree.parent_known) AS parent_known,
    any_value(shares.pairs) AS pairs,
    any_value(shares.total) AS total,
    sum(shares.count) AS count,
    sum(shares.count) * any_value(shares.total)
      - any_value(tree.child_known) * any_value(shares.pairs) AS surplus
  FROM __shares__ AS shares
  JOIN tree
    ON tree.place = shares.place
  GROUP BY shares.class, tree.height, tree.parent, tree.child
),
parents AS (
  SELECT
    class,
    height,
    any_value(pairs) * any_value(total) AS whole,
    sum(greatest(surplus, 0)) AS too_much,
    sum(greatest(surplus, 0))
      - (sum(count) * any_value(total) - any_value(parent_known) * any_value(pairs)) AS too_little
  FROM children
  GROUP BY class, height, parent
)
SELECT max(distance) AS t
FROM (
  SELECT
    sum(height * least(too_much, too_little))
      / (any_value(whole) * (SELECT max(height) FROM edges)) AS distance
  FROM parents
  GROUP BY class
)
