-- verify/combinations: records that have values which were declared not to stand in one record
-- reads   __rows__    record, its cells as text; records: so many of them
--         __cells__   combination, place, value: which values of the cell at this place belong
-- gives   combination, records: how many have such a value at each of its places
--                                                        one row a combination that some record has
WITH wanted AS (
  SELECT combination, count(DISTINCT place) AS places
  FROM __cells__
  GROUP BY combination
), belonging AS (
  SELECT cells.combination, counted.record, counted.records, count(*) AS places
  FROM (
    SELECT record, sum(records) AS records
    FROM __rows__
    GROUP BY record
  ) AS counted
  JOIN __cells__ AS cells
    ON cells.value = list_extract(counted.record, cells.place)
  GROUP BY ALL
)
SELECT belonging.combination, sum(belonging.records) AS records
FROM belonging
JOIN wanted
  ON wanted.combination = belonging.combination
  AND wanted.places = belonging.places
GROUP BY belonging.combination
ORDER BY belonging.combination
