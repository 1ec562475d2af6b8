-- verify/tables: all tables of a database
-- reads   $database  its name
-- gives   schema, name     a row for each
SELECT schema_name AS schema, table_name AS name
FROM duckdb_tables()
WHERE database_name = $database
ORDER BY ALL
