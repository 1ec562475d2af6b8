-- frontiers: the releases whose frontier of policies is in this database, as the tables
-- <release>_frontier and <release>_evaluations: these are what dbdeid may replace
-- private: never part of an export
CREATE TABLE IF NOT EXISTS deid.frontiers (
  release VARCHAR NOT NULL,
  written VARCHAR NOT NULL
)
