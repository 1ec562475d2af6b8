-- utility/ambiguity: how many tuples of the domain a record stands for
-- reads   __classes__   records, size: the classes of a release and the tuples that each stands for
--         $rows         records of the source      $domain  tuples of the whole domain
-- gives   ambiguity     the mean over all records; a removed one stands for the domain    one row
SELECT
  (
    coalesce(sum(records * size ORDER BY size, records), 0)
    + ($rows - coalesce(sum(records), 0)) * $domain
  ) / $rows AS ambiguity
FROM __classes__
