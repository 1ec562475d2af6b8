-- verify/pieces: blocks of a database file that hold its catalog, and which pieces of them are free
-- reads   $database  its name
-- gives   block, free     a row for each block
SELECT block_id AS block, free_list AS free
FROM pragma_metadata_info($database)
ORDER BY block
