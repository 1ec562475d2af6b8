-- review/rare_categories: the categories of a column that few records have, but for those beyond the most
-- frequent ones where only so many are kept
-- reads   __rel__      the source      __col__  the column
--         $few         below so many records a category is rare
--         $most        so many of the most frequent are kept; NULL: all
-- gives   rare: how many of them are kept; common: how many categories are not rare       one row
WITH counted AS (
  SELECT __col__ AS value, count(*) AS records
  FROM __rel__
  WHERE NOT __col__ IS NULL
  GROUP BY __col__
), ranked AS (
  SELECT records, row_number() OVER (ORDER BY records DESC, value) AS place
  FROM counted
)
SELECT
  count(*) FILTER (WHERE records < $few AND place <= coalesce($most, place)) AS rare,
  count(*) FILTER (WHERE records >= $few) AS common
FROM ranked
