-- evaluation/uniform_classes: classes in which one sensitive value is that of every member, whatever else
--                  some of them have
-- reads   __held__    one row per class and value: class, size, count
-- gives   class       one row per such class; NULL is a value of its own
SELECT class
FROM __held__
GROUP BY class
HAVING max(count) = any_value(size)
