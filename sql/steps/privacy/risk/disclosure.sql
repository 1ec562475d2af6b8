-- privacy/risk/disclosure: what a table tells about the sensitive values of those in it: its worst classes
-- reads   __told__    one row per class, as class_disclosure gives it
-- gives   one row: distinct_l, entropy_l, recursive_c, alpha, gain, beyond, shift, lacking, and
--         classes and records by distinct l: 1 (homogeneous), 2 (background), 3 and more (diverse)
WITH lowest AS (
  SELECT min(distinct_l) AS l
  FROM __told__
)
SELECT
  min(distinct_l) AS distinct_l,
  min(entropy_l) AS entropy_l,
  -- there is a tail of l values in every class of which somebody is known
  max(counts[1] / list_sum(counts[greatest(lowest.l, 1):])) AS recursive_c,
  max(alpha) AS alpha,
  max(gain) AS gain,
  max(beyond) AS beyond,
  max(shift) AS shift,
  count(*) FILTER (WHERE lacks) AS lacking,
  count(*) FILTER (WHERE distinct_l <= 1) AS homogeneous_classes,
  coalesce(sum(records) FILTER (WHERE distinct_l <= 1), 0)::BIGINT AS homogeneous_records,
  count(*) FILTER (WHERE distinct_l = 2) AS background_classes,
  coalesce(sum(records) FILTER (WHERE distinct_l = 2), 0)::BIGINT AS background_records,
  count(*) FILTER (WHERE distinct_l > 2) AS diverse_classes,
  coalesce(sum(records) FILTER (WHERE distinct_l > 2), 0)::BIGINT AS diverse_records
FROM __told__, lowest
