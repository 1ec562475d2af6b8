-- confidence: the smallest class, and the greatest share of its subjects who have one value
-- reads   __held__   one row per class and value: class, size, count, meant (whether the value is
--                    one of those that are sensitive)
-- gives   found      one row, a struct: k, alpha (0 where no value is meant); NULLs for an empty table
SELECT
  {
    'k': min(size),
    'alpha': max(CASE WHEN meant THEN count / size ELSE 0 END)
  } AS found
FROM __held__
