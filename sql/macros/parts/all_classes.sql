-- all_classes: the sizes of the classes of a table, whatever is counted
-- reads   as record_classes and policy_classes
-- gives   __rows, __n (what a class counts; NULL: these records have none)

SELECT
  __n AS __rows,
  __n
FROM __record_classes__
UNION ALL
SELECT
  __rows,
  __n
FROM __policy_classes__
