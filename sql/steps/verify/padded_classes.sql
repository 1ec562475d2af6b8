-- verify/padded_classes: the classes of a padded release, numbered by their quasi-identifiers
-- reads   __rows__      one row per record: __key__, class_id
-- gives   __key__, class, size, misnumbered: its records carry no or another number     one row per class
SELECT
  __key__,
  dense_rank() OVER (ORDER BY __key__) AS class,
  count(*) AS size,
  count(class_id) < count(*) OR min(class_id) <> dense_rank() OVER (ORDER BY __key__)
  OR max(class_id) <> dense_rank() OVER (ORDER BY __key__) AS misnumbered
FROM __rows__
GROUP BY __key__
