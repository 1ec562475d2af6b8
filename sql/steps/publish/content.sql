-- publish/content: the hashes of the rows in each bucket, by the first two digits of each
-- reads   __rows__       one row per record: `row_digest`, SHA-256 in hexadecimal digits
--         $first, $last  the first bucket, and the last
-- gives   bucket, digests   one row per bucket from the first to the last; the hashes sorted, and
--                           one after the other
-- In buckets, so that no text holds the hashes of all rows.
SELECT
  "left"(row_digest, 2) AS bucket,
  string_agg(row_digest, '' ORDER BY row_digest) AS digests
FROM __rows__
WHERE "left"(row_digest, 2) BETWEEN $first AND $last
GROUP BY "left"(row_digest, 2)
