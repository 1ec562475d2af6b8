-- verify/comments: the tables, views and columns of one database that carry a comment or tags
-- reads   $database  its name
-- gives   kind, schema_name, object_name, part     one row per commented object or column
SELECT 'table' AS kind, schema_name, table_name AS object_name, NULL AS part
FROM duckdb_tables()
WHERE database_name = $database AND (comment IS NOT NULL OR cardinality(tags) > 0)
UNION ALL
SELECT 'column', schema_name, table_name, column_name
FROM duckdb_columns()
WHERE database_name = $database AND (comment IS NOT NULL OR cardinality(tags) > 0)
UNION ALL
SELECT 'view', schema_name, view_name, NULL
FROM duckdb_views()
WHERE database_name = $database AND NOT internal AND (comment IS NOT NULL OR cardinality(tags) > 0)
ORDER BY ALL
