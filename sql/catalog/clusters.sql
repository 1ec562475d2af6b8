-- clusters: which records synthetic ones were drawn from, and which were drawn, cluster by cluster: the
-- released columns in their order as text, and how many such records of a side there are
-- private: never part of an export
CREATE TABLE IF NOT EXISTS deid.clusters (
  release VARCHAR NOT NULL,
  cluster BIGINT NOT NULL,
  side VARCHAR NOT NULL,
  record VARCHAR[] NOT NULL,
  records BIGINT NOT NULL
)
