-- verify/indexed: how many indexes a table has that are not named in its definition
-- reads   $database, $schema, $table  its names
-- gives   indexes     one row
SELECT count(*) AS indexes
FROM duckdb_indexes()
WHERE database_name = $database AND schema_name = $schema AND table_name = $table
