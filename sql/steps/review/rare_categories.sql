-- review/rare_categories: the categories of a column that few records have, where those beyond the most
-- frequent ones are one, if only so many are kept
-- reads   __rel__      the source      __col__  the column
--         $few         below so many records a category is rare
--         $least       so many records at least are to be called other, or none
--         $most        so many of the most frequent are kept; NULL: all
-- gives   rare: how many are released; keep: how many of the most frequent can be kept so that neither
--         one of them nor what is called other is rare; 0: none can      one row
WITH counted AS (
  SELECT __col__ AS value, count(*) AS records
  FROM __rel__
  WHERE NOT __col__ IS NULL
  GROUP BY __col__
), ranked AS (
  SELECT
    records,
    row_number() OVER (ORDER BY records DESC, value) AS place,
    coalesce(
      sum(records) OVER (
        ORDER BY records DESC, value ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
      ),
      0
    ) AS others
  FROM counted
)
SELECT
  count(*) FILTER (
    WHERE records < $few AND place <= coalesce($most, place)
      OR place = $most AND others BETWEEN 1 AND $few - 1
  ) AS rare,
  coalesce(
    max(place) FILTER (WHERE records >= $few AND (others = 0 OR others >= $least)),
    0
  ) AS keep
FROM ranked
