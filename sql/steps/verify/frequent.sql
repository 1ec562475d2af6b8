-- verify/frequent: the most frequent values of a column, ties in the order of the values
-- reads   __rows__     one row per record      __cell__ a column
--         $most        how many are kept; a missing value is none of them
-- gives   value                                                            one row per value
SELECT __cell__ AS value
FROM __rows__
WHERE NOT __cell__ IS NULL
GROUP BY __cell__
ORDER BY count(*) DESC, __cell__
LIMIT $most
