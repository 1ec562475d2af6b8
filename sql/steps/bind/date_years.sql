-- bind/date_years: the first and the last year of a column of dates
-- reads   __rel__   one row per record        __col__   the column        $end   years from it on are none
-- gives   both; NULL where it has no finite date        one row
SELECT
  min(year(__col__)) AS first,
  max(year(__col__)) FILTER (year(__col__) < $end) AS last
FROM __rel__
