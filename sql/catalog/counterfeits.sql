-- counterfeits: which records of a release are counterfeit, a row for each that is told apart by its
-- values: the released columns in their order as text, and how many such records are counterfeit
-- private: never part of an export
CREATE TABLE IF NOT EXISTS deid.counterfeits (
  release VARCHAR NOT NULL,
  record VARCHAR[] NOT NULL,
  counterfeits BIGINT NOT NULL
)
