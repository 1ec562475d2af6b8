-- verify/definition: what a table's definition holds besides names and types of columns
-- reads   $database, $schema, $name
-- gives   kind, part                                one row per finding
SELECT lower(constraint_type) || ' constraint' AS kind, array_to_string(constraint_column_names, ', ') AS part
FROM duckdb_constraints()
WHERE database_name = $database AND schema_name = $schema AND table_name = $name
UNION ALL
SELECT CASE WHEN is_generated THEN 'generated column' ELSE 'default' END, column_name
FROM duckdb_columns()
WHERE database_name = $database AND schema_name = $schema AND table_name = $name
  AND (is_generated OR column_default IS NOT NULL)
UNION ALL
SELECT 'index', index_name
FROM duckdb_indexes()
WHERE database_name = $database AND schema_name = $schema AND table_name = $name
ORDER BY ALL
