-- withdrawals: runs that count as published no more, with the reason; the lines of the runs themselves stay
-- `run` is the number of a run as `dbdeid releases` lists it. Private: never part of an export.
CREATE TABLE IF NOT EXISTS deid.withdrawals (
  run VARCHAR NOT NULL,
  release VARCHAR NOT NULL,
  reason VARCHAR NOT NULL,
  withdrawn_by VARCHAR NOT NULL,
  withdrawn TIMESTAMP NOT NULL
)
