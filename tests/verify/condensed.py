"""A release of synthetic records made by hand in SQL, and the table of their clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import duckdb
from handmade import Release

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.privacy import ClusterSize
from dbdeid.verify import Declared, Verification, verify_table
from dbdeid.verify.base.declaration import Chance, Promise, Synthesized

COLUMNS = (
    Column("age", "INTEGER"),
    Column("sex", "VARCHAR"),
    Column("ward", "VARCHAR"),
    Column("admitted", "DATE"),
    Column("died", "BOOLEAN"),
    Column("side", "DOUBLE"),
)

# 40 patients in four clusters of ten, two of those who died; the two rarest wards are pooled.
PATIENTS = """
CREATE TABLE patients AS
SELECT
  i AS patient,
  'patient ' || i AS "name",
  CAST(CASE WHEN i % 10 <> 3 THEN 30 + i % 10 * 3 + i // 10 END AS INTEGER) AS age,
  CASE WHEN i % 3 = 0 THEN 'f' WHEN i % 7 <> 1 THEN 'm' END AS sex,
  CASE WHEN i % 10 < 4 THEN 'north' WHEN i % 10 < 7 THEN 'south'
    WHEN i % 10 < 9 THEN 'east' WHEN i < 30 THEN 'west' END AS ward,
  DATE '2020-01-01' + CAST(i * i % 90 AS INTEGER) AS admitted,
  i < 20 AS died,
  CAST(i % 10 / 4 AS DOUBLE) AS side
FROM range(40) AS r(i)
"""

# Of the records of a cluster each takes its values from others, every column from another one.
DRAWN = """
CREATE TABLE drawn AS
SELECT
  p.patient // 10 AS cluster,
  a.age,
  b.sex,
  CASE WHEN c.ward IN ('north', 'south') OR c.ward IS NULL THEN c.ward ELSE 'other' END AS ward,
  d.admitted,
  p.died,
  e.side
FROM patients AS p
JOIN patients AS a ON a.patient = p.patient // 10 * 10 + (p.patient + 1) % 10
JOIN patients AS b ON b.patient = p.patient // 10 * 10 + (p.patient + 3) % 10
JOIN patients AS c ON c.patient = p.patient // 10 * 10 + (p.patient + 4) % 10
JOIN patients AS d ON d.patient = p.patient // 10 * 10 + (p.patient + 6) % 10
JOIN patients AS e ON e.patient = p.patient // 10 * 10 + (p.patient + 8) % 10
"""

RELEASED = """
CREATE OR REPLACE TABLE ward AS
SELECT age, sex, ward, admitted, died, side FROM drawn ORDER BY ALL
"""

CLUSTERS = """
CREATE OR REPLACE TABLE clusters AS
SELECT CAST(patient // 10 AS BIGINT) AS cluster, 'source' AS side,
  [age::VARCHAR, sex, ward, admitted::VARCHAR, died::VARCHAR, patients.side::VARCHAR] AS record,
  count(*) AS records
FROM patients
GROUP BY ALL
UNION ALL
SELECT CAST(cluster AS BIGINT), 'released',
  [age::VARCHAR, sex, ward, admitted::VARCHAR, died::VARCHAR, drawn.side::VARCHAR], count(*)
FROM drawn
GROUP BY ALL
"""

SYNTHESIZED = Synthesized(
    k=10,
    strata=("died",),
    merged=False,
    response="admitted",
    exact=True,
    counts=True,
    nulls=True,
    categories=("sex", "ward", "died"),
    pooled={"ward": 2},
    chance=Chance(others=20, hit_others=0, members=20, hit_members=0),
)

DECLARED = Declared(
    release="ward",
    columns=COLUMNS,
    quasi_identifiers=(),
    bounds=(),
    withheld=("patient", "name"),
    models=(ClusterSize(model="cluster_size", k=10),),
    transformation={},
    tops={},
    source_rows=40,
    suppression_limit=0.0,
    keeps_suppressed=False,
    synthesized=SYNTHESIZED,
)


@dataclass
class Condensed(Release):
    """Synthetic records in an in-memory database, and what they promise."""

    def verify(  # type: ignore[override]
        self, *, source: bool = True, clusters: bool = True
    ) -> Verification:
        with Session.over(self.con, None, read_only=False) as session:
            return verify_table(
                session,
                Relation("ward"),
                self.declared,
                dictionary=None,
                source=Relation("patients") if source else None,
                clusters=Relation("clusters") if clusters else None,
            )

    def redrawn(self, *statements: str) -> Condensed:
        """With other synthetic records, which release and clusters tell alike."""
        self.sql(*statements, RELEASED, CLUSTERS)
        return self

    def synthesized(self, **changes: Any) -> Condensed:
        """With other promises about the synthetic records."""
        found = self.declared.synthesized
        assert found is not None
        fields = {name: getattr(found, name) for name in found.__slots__}
        self.promise(synthesized=Synthesized(**(fields | changes)))
        return self


def condensed() -> Condensed:
    """Synthetic records of four clusters; every promise holds."""
    release = Condensed(duckdb.connect(), DECLARED)
    release.sql(PATIENTS, DRAWN, RELEASED, CLUSTERS)
    return release


def promise(found: Verification, name: str) -> Promise:
    """One promise by its name."""
    return next(p for p in found.promises if p.model == name)
