-- published_rows: how often a run with counterfeit records published which row, by a digest of it
-- private: never part of an export
CREATE TABLE IF NOT EXISTS deid.published_rows (
  run VARCHAR NOT NULL,
  row UBIGINT NOT NULL,
  records BIGINT NOT NULL
)
