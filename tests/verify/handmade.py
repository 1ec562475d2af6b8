"""A small release made by hand in SQL, and files of it, for the verifier to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from dbdeid.engine.duckdb import macros
from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.privacy import KAnonymity
from dbdeid.publish import copying
from dbdeid.verify import Declared, Verification, verify_file, verify_table
from dbdeid.verify.base.populations import Populations

# 20 patients of two age groups, two ZIP areas and both sexes, and one alone.
PATIENTS = """
CREATE TABLE patients AS
SELECT
  'patient ' || i AS "name",
  CAST(CASE WHEN i = 20 THEN 77 ELSE 20 + (i % 10) + 10 * (i % 2) END AS INTEGER) AS age,
  '37' || (100 + 100 * (i % 2) + i) AS zip,
  CASE WHEN i % 4 < 2 THEN 'f' ELSE 'm' END AS sex,
  CASE i % 3 WHEN 0 THEN 'flu' WHEN 1 THEN 'gout' END AS dx
FROM range(21) AS r(i)
"""

HIERARCHIES = """
CREATE TABLE hierarchies AS
WITH ages AS (SELECT DISTINCT age, age // 10 * 10 AS decade FROM patients),
zips AS (SELECT DISTINCT zip FROM patients),
sexes AS (SELECT DISTINCT sex FROM patients)
SELECT 'ward' AS release, 'age' AS hierarchy, l AS level, CAST(age AS VARCHAR) AS value,
  CASE l WHEN 0 THEN CAST(age AS VARCHAR) WHEN 1 THEN '[' || decade || ', ' || decade + 10 || ')'
    ELSE '*' END AS label,
  0.0::DOUBLE AS loss,
  CAST(CASE l WHEN 0 THEN age WHEN 1 THEN decade END AS VARCHAR) AS lower,
  CAST(CASE l WHEN 0 THEN age WHEN 1 THEN decade + 9 END AS VARCHAR) AS upper
FROM ages, range(3) AS r(l)
UNION ALL
SELECT 'ward', 'zip', l, zip, CASE l WHEN 0 THEN zip WHEN 1 THEN left(zip, 3) || '**' ELSE '*' END,
  0, NULL, NULL
FROM zips, range(3) AS r(l)
UNION ALL
SELECT 'ward', 'sex', l, sex, CASE l WHEN 0 THEN sex ELSE '*' END, 0, NULL, NULL
FROM sexes, range(2) AS r(l)
"""

GENERALIZED = """
SELECT
  '[' || age // 10 * 10 || ', ' || age // 10 * 10 + 10 || ')' AS age,
  CAST(age // 10 * 10 AS INTEGER) AS age_lower,
  CAST(age // 10 * 10 + 9 AS INTEGER) AS age_upper,
  left(zip, 3) || '**' AS zip,
  sex,
  dx
FROM patients
"""

DICTIONARY = """
SELECT DISTINCT d.* FROM (
  SELECT hierarchy AS "column", label AS released_value, CAST(level AS INTEGER) AS level,
    lower, upper, CAST(NULL AS VARCHAR[]) AS leaves
  FROM hierarchies
  WHERE level = CASE hierarchy WHEN 'sex' THEN 0 ELSE 1 END
) AS d
JOIN (
  SELECT 'age' AS c, age AS v FROM ward UNION SELECT 'zip', zip FROM ward
  UNION SELECT 'sex', sex FROM ward
) AS w ON d."column" = w.c AND d.released_value = w.v
ORDER BY ALL
"""

DECLARED = Declared(
    release="ward",
    columns=(
        Column("age", "VARCHAR"),
        Column("age_lower", "INTEGER"),
        Column("age_upper", "INTEGER"),
        Column("zip", "VARCHAR"),
        Column("sex", "VARCHAR"),
        Column("dx", "VARCHAR"),
    ),
    quasi_identifiers=("age", "zip", "sex"),
    bounds=("age_lower", "age_upper"),
    withheld=("name",),
    models=(KAnonymity(model="k_anonymity", k=5),),
    transformation={"age": 1, "zip": 1, "sex": 0},
    tops={"age": 2, "zip": 2, "sex": 1},
    source_rows=21,
    suppression_limit=0.05,
    keeps_suppressed=False,
    as_written=("dx",),  # what is expected by hand takes NULL for a value
)

# How files of each ending are written.
OPTIONS = {
    "parquet": "FORMAT parquet",
    "csv": "FORMAT csv",
    "tsv": "FORMAT csv, DELIMITER '\t'",
    "json": "FORMAT json, ARRAY true",
    "ndjson": "FORMAT json",
    "jsonl": "FORMAT json",
}
PACKED = {"": "", "gz": ", COMPRESSION gzip", "zst": ", COMPRESSION zstd"}


@dataclass
class Release:
    """A release in an in-memory database, and what it promises."""

    con: duckdb.DuckDBPyConnection
    declared: Declared
    macros: bool = False  # whether its database files have them, which takes as long as the rest

    def sql(self, *statements: str) -> Release:
        for statement in statements:
            self.con.execute(statement)
        return self

    def replace(self, query: str, *, table: str = "ward") -> Release:
        """The table made anew from a query on it, sorted."""
        return self.sql(f"CREATE OR REPLACE TABLE {table} AS {query} ORDER BY ALL")

    def promise(self, **changes: object) -> Release:
        self.declared = replace(self.declared, **changes)  # type: ignore[arg-type]
        return self

    def verify(
        self, *, source: bool = True, populations: Populations | None = None
    ) -> Verification:
        with Session.over(self.con, None, read_only=False) as session:
            return verify_table(
                session,
                Relation("ward"),
                self.declared,
                dictionary=Relation("ward_dictionary"),
                source=Relation("patients") if source else None,
                hierarchies=Relation("hierarchies") if source else None,
                populations=populations,
            )

    def publish(
        self, path: Path, *changes: str, before: str | None = None, later: bool = False
    ) -> Verification:
        """Write a file of the release, changed by statements, reopen and verify it."""
        dictionary = self.write(path, *changes, before=before, later=later)
        return verify_file(path, self.declared, dictionary=dictionary)

    def write(
        self, path: Path, *changes: str, before: str | None = None, later: bool = False
    ) -> str | Path:
        """Write a file of the release, changed by statements, and tell where its dictionary is.

        A database is changed while it is written, and so leaves nothing of before in the file;
        or `later`, when it has been closed.
        """
        if path.suffix == ".duckdb":
            self._database(path, before, () if later else changes)
            if later:
                with duckdb.connect(path) as con:
                    for statement in changes:
                        con.execute(statement)
            return "ward_dictionary"
        stem, _, ending = path.name.partition(".")
        beside = path.with_name(f"{stem}_dictionary.{ending}")
        if ending == "xlsx":
            with Session.over(self.con, None, read_only=False) as session:
                for table, file in (("ward", path), ("ward_dictionary", beside)):
                    copying.copy(session, Relation(table), file)
            self.sql(*changes)
            return beside
        form, _, packed = ending.partition(".")
        options = f"({OPTIONS[form]}{PACKED[packed]})"
        self.sql(
            f"COPY ward TO '{path}' {options}", f"COPY ward_dictionary TO '{beside}' {options}"
        )
        self.sql(*changes)
        return beside

    def _database(self, path: Path, before: str | None, changes: Sequence[str]) -> None:
        self.sql(f"ATTACH '{path}' AS published (STORAGE_VERSION 'v1.2.0')")
        if before:
            self.sql(before)
        self.sql("CREATE TABLE published.ward AS FROM ward ORDER BY ALL")
        self.sql("CREATE TABLE published.ward_dictionary AS FROM ward_dictionary ORDER BY ALL")
        if self.macros:
            macros.install(self.con, "published", private=False)
        self.sql("USE published.main", *changes, "USE memory.main", "DETACH published")


def handmade(*, macros: bool = False) -> Release:
    """The release in order: decades, ZIP areas, sexes, one of 21 patients suppressed; k = 5."""
    release = Release(duckdb.connect(), DECLARED, macros)
    release.sql(PATIENTS, HIERARCHIES)
    release.sql(f"CREATE TABLE ward AS {GENERALIZED} WHERE age < 70 ORDER BY ALL")
    return release.sql(f"CREATE TABLE ward_dictionary AS {DICTIONARY}")


def failed(found: Verification) -> set[str]:
    """Names of the promises and checks that do not hold."""
    promises = {p.model for p in found.promises if not p.holds}
    return promises | {c.check for c in found.hygiene if not c.holds}


def detail(found: Verification, check: str) -> str:
    """The detail of one check."""
    return next(c.detail for c in found.hygiene if c.check == check)
