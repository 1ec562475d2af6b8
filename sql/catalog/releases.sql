-- releases: one row a run; what was released, how, and which objects dbdeid may replace
-- private: never part of an export
CREATE TABLE IF NOT EXISTS deid.releases (
  release VARCHAR NOT NULL,
  object VARCHAR NOT NULL,
  kind VARCHAR NOT NULL,
  exports VARCHAR[] NOT NULL,
  spec VARCHAR NOT NULL,
  spec_hash VARCHAR NOT NULL,
  transformation JSON NOT NULL,
  metrics JSON NOT NULL,
  record JSON NOT NULL,
  version VARCHAR NOT NULL,
  created TIMESTAMP NOT NULL
)
