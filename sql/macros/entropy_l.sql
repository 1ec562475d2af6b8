-- entropy_l: how many values some counts are as diverse as, the exponential of their entropy
-- reads   counts    a list with the count of every value of a class; zeros are no values
-- gives   DOUBLE from 1, where there is one value, to the number of values, where all are as
--         frequent; NULL for NULL and for a list without a count above 0; an error for a count that
--         is negative, NULL or not finite
-- example SELECT deid.entropy_l([2, 2])  -- 2.0
CREATE OR REPLACE MACRO deid.entropy_l(counts) AS
CASE
  WHEN counts IS NOT NULL AND TRY_CAST(counts AS DOUBLE[]) IS NULL
    THEN error('deid.entropy_l: counts must be a list of numbers, such as [2, 1]')
  ELSE list_transform(
    [TRY_CAST(counts AS DOUBLE[])],
    lambda given: CASE
      WHEN len(list_filter(given, lambda one: coalesce(one >= 0 AND isfinite(one), false)))
        < len(given)
        THEN error('deid.entropy_l: counts must be finite, 0 or more, and none of them NULL')
      WHEN list_sum(given) = 0 THEN NULL
      -- exact, which exp(ln(3)) is not
      WHEN list_min(list_filter(given, lambda one: one > 0)) = list_max(given)
        THEN len(list_filter(given, lambda one: one > 0))
      ELSE exp(
        ln(list_sum(given))
        - list_sum(list_transform(
          given, lambda one: CASE WHEN one > 0 THEN one * ln(one) ELSE 0 END
        ))
        / list_sum(given)
      )
    END
  )[1]
END;
