-- distance_equal: the greatest distance of a class from the table, all values equally far apart
-- reads   __told__     one row per class: class, total (the sum of its holders)
--         __shares__   one row per class and value in it: class, holders, people
--         $all         the sum of people over all values
-- gives   t            one row: ½ Σ |p - q|, which is Σ (p - q) over the values more frequent here
SELECT max(distance) AS t
FROM (
  SELECT sum(greatest(shares.holders / told.total - shares.people / $all, 0)) AS distance
  FROM __shares__ AS shares
  JOIN __told__ AS told
    ON told.class = shares.class
  GROUP BY shares.class
) AS distances
