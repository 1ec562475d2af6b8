-- verify/stored_rows: how many rows a table's column segments hold on disk, deleted ones included
-- reads   $table     its qualified name
-- gives   stored     one row
SELECT coalesce(max(stored), 0) AS stored
FROM (
  SELECT sum("count") AS stored
  FROM pragma_storage_info($table)
  WHERE column_path NOT LIKE '%,%'
  GROUP BY column_id
)
