-- verify/other_comments: what else in one database carries a comment or tags
-- reads   $database  its name
-- gives   kind, schema_name, object_name, part     one row per commented object
SELECT 'macro' AS kind, schema_name, function_name AS object_name, NULL AS part
FROM duckdb_functions()
WHERE database_name = $database AND NOT internal AND (comment IS NOT NULL OR cardinality(tags) > 0)
UNION ALL
SELECT 'type', schema_name, type_name, NULL
FROM duckdb_types()
WHERE database_name = $database AND NOT internal AND (comment IS NOT NULL OR cardinality(tags) > 0)
UNION ALL
SELECT 'sequence', schema_name, sequence_name, NULL
FROM duckdb_sequences()
WHERE database_name = $database AND (comment IS NOT NULL OR cardinality(tags) > 0)
UNION ALL
SELECT 'index', schema_name, index_name, NULL
FROM duckdb_indexes()
WHERE database_name = $database AND (comment IS NOT NULL OR cardinality(tags) > 0)
UNION ALL
SELECT 'schema', schema_name, schema_name, NULL
FROM duckdb_schemas()
WHERE database_name = $database AND (comment IS NOT NULL OR cardinality(tags) > 0)
UNION ALL
SELECT 'database', NULL, database_name, NULL
FROM duckdb_databases()
-- its tags hold the storage version
WHERE database_name = $database AND comment IS NOT NULL
ORDER BY ALL
