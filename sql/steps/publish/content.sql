-- publish/content: the hashes of the rows in some buckets, by the first two digits of each
-- reads   __rows__       one row per record: `row_digest`, SHA-256 in hexadecimal digits
--         $first, $last  the first bucket, and the last
-- gives   row_digest     one row per record of those buckets, in no order
SELECT row_digest
FROM __rows__
WHERE "left"(row_digest, 2) BETWEEN $first AND $last
