-- verify/definition: what definitions of tables hold besides names and types of columns
-- reads   __rel__   number, database_name, schema_name and table_name of each table
-- gives   number of the table, kind, part           one row per finding
SELECT number, lower(constraint_type) || ' constraint' AS kind, array_to_string(constraint_column_names, ', ') AS part
FROM __rel__
JOIN duckdb_constraints() USING (database_name, schema_name, table_name)
UNION ALL
SELECT number, CASE WHEN is_generated THEN 'generated column' ELSE 'default' END, column_name
FROM __rel__
JOIN duckdb_columns() USING (database_name, schema_name, table_name)
WHERE is_generated OR column_default IS NOT NULL
UNION ALL
SELECT number, 'index', index_name
FROM __rel__
JOIN duckdb_indexes() USING (database_name, schema_name, table_name)
ORDER BY ALL
