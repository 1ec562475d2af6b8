-- privacy/confidence: the smallest class, and the greatest share of its subjects who have one value
-- reads   __held__   one row per class and value: class, size, count, missing, known, meant
--                    (whether the value is one of those that are sensitive)
-- gives   found      one row, a struct: k, alpha (0 where no value is meant); NULLs for an empty
--                    table. A value's share is that of all subjects, or, where that is more, of
--                    those who have a value
SELECT
  {
    'k': min(size),
    'alpha': max(CASE WHEN meant THEN count / CASE WHEN missing THEN size ELSE known END ELSE 0 END)
  } AS found
FROM __held__
