-- privacy/smallest_class: the smallest class of a table (k)
-- reads   __classes__   one row per class: class_size, NULL where records have no class
-- gives   smallest      one row; 0 where records have no class, NULL for an empty table
SELECT min(coalesce(class_size, 0)) AS smallest
FROM __classes__
