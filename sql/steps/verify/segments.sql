-- verify/segments: where the columns of a table lie in the blocks of its file
-- reads   $table     its qualified name
-- gives   block, starts, compression, kind, "count", more     a row for each segment with bytes
SELECT block_id AS block, block_offset AS starts, compression, segment_type AS kind, "count",
  additional_block_ids AS more
FROM pragma_storage_info($table)
WHERE block_id >= 0
ORDER BY ALL
