-- verify/places: what each value reads on each level, and what is lost there, from the leaves alone
-- reads   __labels__    the hierarchies: name, level, value, label, loss, lower, upper; listed: the
--                       leaves of the column are its declared domain
--         $local        whether levels mix
-- gives   name, level, value, shown, loss           one row per column, level and value
-- Where levels mix a label that names other leaves on another level is shown with its level, a value
-- as it is. The range of intervals stands nowhere but in their losses: the narrowest that any tells
-- is taken. Bounds are subtracted before they are rounded: doubles do not tell 2^60 from 2^60 + 5.
WITH ends AS (
  SELECT
    *,
    TRY_CAST(split_part(lower, '.', 1) AS BIGNUM) AS lower_whole,
    TRY_CAST(split_part(upper, '.', 1) AS BIGNUM) AS upper_whole,
    TRY_CAST('0.' || split_part(lower, '.', 2) || '0' AS DOUBLE) AS lower_rest,
    TRY_CAST('0.' || split_part(upper, '.', 2) || '0' AS DOUBLE) AS upper_rest
  FROM __labels__
),
measured AS (
  SELECT
    * EXCLUDE (lower_whole, upper_whole, lower_rest, upper_rest),
    coalesce(
      CAST(upper_whole - lower_whole AS DOUBLE)
      + CASE WHEN upper LIKE '-%' THEN -upper_rest ELSE upper_rest END
      - CASE WHEN lower LIKE '-%' THEN -lower_rest ELSE lower_rest END,
      epoch(TRY_CAST(upper AS TIMESTAMP)) - epoch(TRY_CAST(lower AS TIMESTAMP))
    ) AS width
  FROM ends
),
columns AS (
  SELECT
    name,
    count(DISTINCT value) AS leaves,
    NOT bool_or(listed) AND bool_or(
      "level" > 0 AND label <> '*' AND (NOT lower IS NULL OR NOT upper IS NULL)
    ) AS interval_scaled,
    min(width / loss) FILTER (WHERE loss > 0 AND loss < 1) AS span
  FROM measured
  GROUP BY name
),
groups AS (
  SELECT name, "level", label, count(value) AS size, list(value ORDER BY value) AS held
  FROM measured
  GROUP BY name, "level", label
),
mixed AS (
  SELECT name, label
  FROM groups
  WHERE NOT label IS NULL
  GROUP BY name, label
  HAVING count(DISTINCT held) > 1
)
SELECT
  measured.name,
  measured."level",
  measured.value,
  CASE
    WHEN mixed.label IS NULL OR measured."level" = 0 OR NOT $local THEN measured.label
    ELSE measured.label || '@' || measured."level"
  END AS shown,
  CASE
    WHEN measured.label = '*' THEN 1
    WHEN measured.value IS NULL OR measured."level" = 0 THEN 0
    WHEN NOT columns.interval_scaled THEN (groups.size - 1) / greatest(columns.leaves - 1, 1)
    WHEN measured.width IS NULL THEN 1
    ELSE coalesce(least(1, measured.width / columns.span), measured.loss)
  END AS loss
FROM measured
JOIN columns
  ON columns.name = measured.name
JOIN groups
  ON groups.name = measured.name AND groups."level" = measured."level"
  AND groups.label IS NOT DISTINCT FROM measured.label
LEFT JOIN mixed
  ON mixed.name = measured.name AND mixed.label = measured.label
