-- privacy/risk/class_disclosure: what each class tells about the sensitive value of those in it
-- reads   __classes__   one row per class: class, records, class_size (its members)
--         __shares__    one row per class and value in it: class, holders (its members with the
--                       value), people (members of the table with it)
--         $people       members of the table
--         $values       values of the table
-- gives   class, records, total (the sum of holders), counts (holders, most first), distinct_l,
--         entropy_l, alpha, gain, beyond, shift, lacks       one row per class
SELECT
  classes.class,
  any_value(classes.records) AS records,
  sum(shares.holders) AS total,
  list_reverse_sort(list(shares.holders) FILTER (WHERE shares.holders IS NOT NULL)) AS counts,
  -- a value that all members have is learned of each, whatever else they have
  CASE
    WHEN max(shares.holders) = any_value(classes.class_size) THEN 1
    ELSE least(count(shares.holders), any_value(classes.class_size))
  END AS distinct_l,
  -- exp of -Σ p ln p: of values that are equally frequent their number, without rounding; of a class
  -- of nobody known nothing is diverse
  CASE
    WHEN max(shares.holders) = any_value(classes.class_size) THEN 1
    WHEN min(shares.holders) = max(shares.holders)
      THEN least(count(shares.holders), any_value(classes.class_size))
    ELSE coalesce(
      least(
        exp(
          ln(sum(shares.holders))
          - sum(shares.holders * ln(shares.holders)) / sum(shares.holders)
        ),
        any_value(classes.class_size)
      ),
      0
    )
  END AS entropy_l,
  coalesce(max(shares.holders) / any_value(classes.class_size), 1) AS alpha,
  max(shares.ratio) - 1 AS gain,
  max(shares.ratio - 1 + ln(shares.people / $people)) AS beyond,
  max(abs(log2(shares.ratio))) AS shift,
  count(shares.holders) < $values AS lacks
FROM __classes__ AS classes
LEFT JOIN (
  SELECT
    *,
    holders * $people::DOUBLE / (class_size * people::DOUBLE) AS ratio
  FROM __shares__
) AS shares
  ON shares.class = classes.class
GROUP BY classes.class
