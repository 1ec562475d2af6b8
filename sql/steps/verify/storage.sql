-- verify/storage: blocks of a database file and how they are used
-- reads   $database  its name
-- gives   total_blocks, free_blocks, block_size     one row
SELECT total_blocks, free_blocks, block_size
FROM pragma_database_size()
WHERE database_name = $database
