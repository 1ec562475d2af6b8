-- query/assumed: how the released values of a column divide among the groups of a question, which is
--                assumed wherever one stands for several
-- reads   __shares__   value, passes (the conditions on the column), __part__ (what it hands on to the keys),
--                      share of the value: 0 where that is unknown
-- gives   released    values that may pass
--         decided     values that pass or fail as a whole
--         split       values that stand for several groups
--         distance    the most by which the shares of one value's groups differ from those of all values,
--                     as total variation from 0 to 1
SELECT
  COUNT(*) AS released,
  (SELECT COUNT(DISTINCT value) FROM __shares__ WHERE share > 0 AND value IS NOT NULL)
    - COUNT(*) FILTER (WHERE part < 0.999999999) AS decided,
  COUNT(*) FILTER (WHERE groups > 1) AS split,
  MAX(distance) AS distance
FROM (
  SELECT
    value,
    ANY_VALUE(part) AS part,
    COUNT(*) AS groups,
    (SUM(ABS(share / part - typical)) + 1 - SUM(typical)) / 2 AS distance
  FROM (
    SELECT
      value,
      share,
      part,
      SUM(share / part) OVER (PARTITION BY __part__)
        / (SELECT COUNT(DISTINCT value) FROM __shares__ WHERE passes AND share > 0 AND value IS NOT NULL) AS typical
    FROM (
      SELECT value, __part__, share, SUM(share) OVER (PARTITION BY value) AS part
      FROM (
        SELECT value, __part__, SUM(share) AS share
        FROM __shares__
        WHERE passes
          AND share > 0
          AND value IS NOT NULL
        GROUP BY value, __part__
      ) AS passing
    ) AS parted
  ) AS compared
  GROUP BY value
) AS of_values
