-- distance_ordered: the greatest distance of a class from the table, values a step apart in order
-- reads   __values__   one row per value: position, reached, summed, as sensitive_values gives them
--         __told__     one row per class: class, total (the sum of its holders)
--         __shares__   one row per class and value in it: class, position, holders
--         $values      values of the table
-- gives   t            one row: Σ_i |Σ_{j≤i} (p_j - q_j)| / (values - 1)
WITH steps AS (
  -- the class reaches a share at each of its values and stays there up to its next one
  SELECT
    shares.class,
    shares.position AS start,
    lead(shares.position, 1, $values + 1) OVER placed - 1 AS stop,
    sum(shares.holders) OVER placed / told.total AS level
  FROM __shares__ AS shares
  JOIN __told__ AS told
    ON told.class = shares.class
  WINDOW placed AS (PARTITION BY shares.class ORDER BY shares.position)
), passed AS (
  -- where the table overtakes that share, within the step
  SELECT
    steps.class,
    steps.start,
    steps.stop,
    steps.level,
    least(greatest(coalesce(below.position, 0), steps.start - 1), steps.stop) AS crossing,
    CASE
      WHEN coalesce(below.position, 0) < steps.start THEN first.summed - first.reached
      WHEN below.position > steps.stop THEN last.summed
      ELSE below.summed
    END AS crossed,
    first.summed - first.reached AS before,
    last.summed AS after
  FROM steps
  JOIN __values__ AS first
    ON first.position = steps.start
  JOIN __values__ AS last
    ON last.position = steps.stop
  ASOF LEFT JOIN __values__ AS below
    ON steps.level > below.reached
), distances AS (
  SELECT
    -- before its first value the class has nothing
    min(before)
    + sum(
      level * (crossing - start + 1) - (crossed - before)
      + (after - crossed) - level * (stop - crossing)
    ) AS distance
  FROM passed
  GROUP BY class
)
SELECT max(distance) / greatest($values - 1, 1) AS t
FROM distances
