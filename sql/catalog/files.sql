-- files: one row for each file that a run wrote: what dbdeid may replace, and what a killed run left
-- `unfinished` is where the file lay when the run was booked; while it is there, it has yet to be
-- renamed to `path`. Both are relative to the folder of this database. Private.
CREATE TABLE IF NOT EXISTS deid.files (
  release VARCHAR NOT NULL,
  path VARCHAR NOT NULL,
  sha256 VARCHAR NOT NULL,
  unfinished VARCHAR NOT NULL
)
