-- privacy/t_equal: the greatest distance of a class's distribution to the source's, all values as far apart
-- reads   __shares__   one row per class and value: class, count, pairs, known, total
-- gives   t            one row; NULL for an empty table
SELECT max(distance) AS t
FROM (
  SELECT
    -- half the sum of |p - q|; a value that the class lacks adds its q
    (sum(abs(count * total - known * pairs)) + any_value(pairs) * (any_value(total) - sum(known)))
      / (2 * any_value(pairs) * any_value(total)) AS distance
  FROM __shares__
  GROUP BY class
)
