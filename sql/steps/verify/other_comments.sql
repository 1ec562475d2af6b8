-- verify/other_comments: whether one database or a schema of it carries a comment or tags
-- reads   $database  its name
-- gives   kind, schema_name, object_name, part     one row per commented object
SELECT 'schema' AS kind, schema_name, schema_name AS object_name, NULL AS part
FROM duckdb_schemas()
WHERE database_name = $database AND (comment IS NOT NULL OR cardinality(tags) > 0)
UNION ALL
SELECT 'database', NULL, database_name, NULL
FROM duckdb_databases()
-- its tags hold the storage version
WHERE database_name = $database AND comment IS NOT NULL
ORDER BY ALL
