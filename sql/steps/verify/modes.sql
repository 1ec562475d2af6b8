-- verify/modes: records of classes that do not read the most frequent value of their members
-- reads   __cells__   one row for each source value and class: __key__, what the class reads; value,
--                     the text in the source; shown, what replaces it; records
-- gives   records                                                               one row
-- Of several that are as frequent it is the first in their order, NULL the last.
SELECT coalesce(sum(members), 0)::BIGINT AS records
FROM (
  SELECT
    value,
    shown,
    sum(found) OVER (PARTITION BY __key__) AS members,
    row_number() OVER (PARTITION BY __key__ ORDER BY found DESC, value NULLS LAST) AS place
  FROM (
    SELECT __key__, value, any_value(shown) AS shown, sum(records) AS found
    FROM __cells__
    GROUP BY __key__, value
  )
)
WHERE place = 1 AND value IS DISTINCT FROM shown
