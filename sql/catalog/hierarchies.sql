-- hierarchies: the private table of generalization hierarchies, one row per value and level
-- level 0 is the value itself, the top level is '*'; `release` is '' for a hierarchy loaded by hand.
-- A NULL value has NULL labels below the top and '*' at the top. Never exported.
CREATE TABLE IF NOT EXISTS deid.hierarchies (
  release VARCHAR NOT NULL,
  hierarchy VARCHAR NOT NULL,
  level INTEGER NOT NULL CHECK (level >= 0),
  value VARCHAR,
  label VARCHAR,
  loss DOUBLE,
  lower VARCHAR,
  upper VARCHAR
)
