-- verify_levels: whether the released values of one quasi-identifier stand in the dictionary at its level
-- reads   __classes__     one row per class: suppressed, and __value__ of the quasi-identifier
--         __dictionary__  one row per released value        $column, $level
-- gives   occurring, misplaced                              one row: distinct values, those not at the level
SELECT count(*) AS occurring, count(*) FILTER (WHERE coalesce(lowest <> $level OR highest <> $level, TRUE)) AS misplaced
FROM (
  SELECT CAST(__value__ AS VARCHAR) AS released_value
  FROM __classes__
  WHERE NOT suppressed
  GROUP BY __value__
) AS found
LEFT JOIN (
  SELECT released_value, min("level") AS lowest, max("level") AS highest
  FROM __dictionary__
  WHERE "column" = $column
  GROUP BY released_value
) AS listed
ON found.released_value IS NOT DISTINCT FROM listed.released_value
