-- verify/objects: everything that somebody has put into one database
-- reads   $database  its name
-- gives   kind, schema_name, object_name, commented    one row per object; whether it carries a comment
--                                                      or tags that verify/comments does not tell of
-- Functions are listed once for both: that takes as long as all else together.
SELECT 'table' AS kind, schema_name, table_name AS object_name, FALSE AS commented
FROM duckdb_tables()
WHERE database_name = $database
UNION ALL
SELECT 'view', schema_name, view_name, FALSE
FROM duckdb_views()
WHERE database_name = $database AND NOT internal
UNION ALL
SELECT 'macro', schema_name, function_name, comment IS NOT NULL OR cardinality(tags) > 0
FROM duckdb_functions()
WHERE database_name = $database AND NOT internal
UNION ALL
SELECT 'type', schema_name, type_name, comment IS NOT NULL OR cardinality(tags) > 0
FROM duckdb_types()
WHERE database_name = $database AND NOT internal
UNION ALL
SELECT 'sequence', schema_name, sequence_name, comment IS NOT NULL OR cardinality(tags) > 0
FROM duckdb_sequences()
WHERE database_name = $database
UNION ALL
SELECT 'index', schema_name, index_name, comment IS NOT NULL OR cardinality(tags) > 0
FROM duckdb_indexes()
WHERE database_name = $database
UNION ALL
SELECT 'trigger', schema_name, trigger_name, FALSE
FROM duckdb_triggers()
WHERE database_name = $database
UNION ALL
-- a schema inside a schema can only hold what is not ours
SELECT 'schema', coalesce(parent_schema, ''), schema_name, FALSE
FROM duckdb_schemas()
WHERE database_name = $database AND NOT internal AND (schema_name <> 'main' OR parent_schema IS NOT NULL)
ORDER BY ALL
