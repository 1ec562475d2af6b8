-- publish/columns_of_tables: the columns of all tables of an attached database, in order; views are not
--                    among them, for they may read anything
-- reads   duckdb_columns(), duckdb_tables()   $catalog is the name of the database
-- gives   schema_name, table_name, column_name, data_type   one row a column
SELECT
  columns.schema_name,
  columns.table_name,
  columns.column_name,
  columns.data_type
FROM duckdb_columns() AS columns
JOIN duckdb_tables() AS tables
  ON columns.database_name = tables.database_name
  AND columns.table_oid = tables.table_oid
WHERE NOT columns.internal
  AND columns.database_name = $catalog
ORDER BY columns.schema_name, columns.table_name, columns.column_index
