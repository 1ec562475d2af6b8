-- published: which records of its source a run showed in one class, to compare later releases with it
-- `record` is a digest of what tells a record from the others, `person` of whose it is where people count;
-- a class is a number that means nothing else. Delete the rows of a run that was never given away. Private.
CREATE TABLE IF NOT EXISTS deid.published (
  run VARCHAR NOT NULL,
  record UBIGINT NOT NULL,
  person UBIGINT NOT NULL,
  class INTEGER NOT NULL
)
