-- verify/objects: everything that somebody has put into one database
-- reads   $database  its name
-- gives   kind, schema_name, object_name           one row per object
SELECT 'table' AS kind, schema_name, table_name AS object_name
FROM duckdb_tables()
WHERE database_name = $database
UNION ALL
SELECT 'view', schema_name, view_name
FROM duckdb_views()
WHERE database_name = $database AND NOT internal
UNION ALL
SELECT 'macro', schema_name, function_name
FROM duckdb_functions()
WHERE database_name = $database AND NOT internal
UNION ALL
SELECT 'type', schema_name, type_name
FROM duckdb_types()
WHERE database_name = $database AND NOT internal
UNION ALL
SELECT 'sequence', schema_name, sequence_name
FROM duckdb_sequences()
WHERE database_name = $database
UNION ALL
SELECT 'index', schema_name, index_name
FROM duckdb_indexes()
WHERE database_name = $database
UNION ALL
SELECT 'trigger', schema_name, trigger_name
FROM duckdb_triggers()
WHERE database_name = $database
UNION ALL
-- a schema inside a schema can only hold what is not ours
SELECT 'schema', coalesce(parent_schema, ''), schema_name
FROM duckdb_schemas()
WHERE database_name = $database AND NOT internal AND (schema_name <> 'main' OR parent_schema IS NOT NULL)
ORDER BY ALL
