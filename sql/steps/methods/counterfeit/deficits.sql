-- methods/counterfeit/deficits: how many records each class lacks, and which could lack some
-- reads   __members__   class_id, part: the records and what their class was made as
--         __groups__    part, grp: of what could be padded, what belongs together
--         $k            smallest class        $size    what smaller ones are padded to
-- gives   class_id, records, missing, grp (NULL: nobody could take it for padded)  one row a class
SELECT
  sizes.class_id,
  sizes.records,
  sizes.missing,
  CASE WHEN sizes.records + sizes.missing = $size THEN known.grp END AS grp
FROM (
  SELECT
    class_id,
    any_value(part) AS part,
    count(*) AS records,
    CASE WHEN count(*) < $k THEN $size - count(*) ELSE 0 END AS missing
  FROM __members__
  GROUP BY class_id
) AS sizes
LEFT JOIN __groups__ AS known
  ON known.part = sizes.part
