-- verify/indexes: how many indexes a database has, those of keys included
-- reads   $database  its name
-- gives   indexes     one row
SELECT
  (SELECT count(*) FROM duckdb_indexes() WHERE database_name = $database)
  + (SELECT count(*) FROM duckdb_constraints() WHERE database_name = $database
      AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')) AS indexes
