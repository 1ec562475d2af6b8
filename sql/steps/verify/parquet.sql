-- verify/parquet: what a Parquet file says of itself, and how many of its bytes its columns take
-- reads   $path
-- gives   created_by, file_bytes, accounted_bytes, encrypted, keys, noted_chunks   one row
SELECT
  created_by,
  file_size_bytes AS file_bytes,
  -- the magic bytes at both ends and the length of the footer take 12
  12 + footer_size + coalesce(
    (
      SELECT sum(total_compressed_size + coalesce(bloom_filter_length, 0))
      FROM parquet_metadata($path)
    ),
    0
  ) AS accounted_bytes,
  encryption_algorithm IS NOT NULL AS encrypted,
  (SELECT list(decode("key") ORDER BY "key") FROM parquet_kv_metadata($path)) AS keys,
  (
    SELECT count(*)
    FROM parquet_metadata($path)
    WHERE cardinality(key_value_metadata) > 0
  ) AS noted_chunks
FROM parquet_file_metadata($path)
