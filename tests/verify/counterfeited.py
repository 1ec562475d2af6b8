"""Releases with counterfeit records made by hand in SQL: at one level a column, and local."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
from handmade import Release

from dbdeid.data.weights import truthful, weighted
from dbdeid.engine.duckdb import macros
from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.sqltext import sql
from dbdeid.privacy import KAnonymity
from dbdeid.verify import Declared, Verification, verify_file, verify_table
from dbdeid.verify.base.declaration import Padding

# 30 patients; a few are alone or two with their decade and sex, which is unknown of three. The wing
# follows from the diagnosis, so that it tells nothing of who is real.
PATIENTS = """
CREATE TABLE patients AS
SELECT CAST(age AS INTEGER) AS age, sex, coalesce(wings[dx], 'north') AS wing, dx
FROM (
  VALUES
    (20, 'f', 'east', 'flu'), (21, 'f', 'east', 'flu'), (22, 'f', 'west', 'gout'),
    (29, 'f', 'west', NULL),
    (21, 'm', 'east', 'flu'), (22, 'm', 'east', 'gout'), (28, 'm', 'west', NULL),
    (30, 'f', 'east', 'flu'), (31, 'f', 'west', 'gout'), (32, 'f', 'west', NULL),
    (35, 'm', 'east', 'flu'), (36, 'm', 'west', 'gout'),
    (40, 'f', 'east', 'flu'), (41, 'f', 'west', 'gout'), (42, 'f', 'west', NULL),
    (44, 'm', 'east', 'flu'), (45, 'm', 'west', 'gout'), (46, 'm', 'west', NULL),
    (50, 'f', 'east', NULL),
    (51, 'm', 'east', 'flu'), (52, 'm', 'east', 'flu'), (53, 'm', 'west', 'gout'),
    (54, 'm', 'west', 'gout'), (55, 'm', 'west', NULL),
    (25, NULL, 'east', 'flu'), (26, NULL, 'west', 'gout'), (27, NULL, 'east', NULL)
) AS r(age, sex, w, dx), (SELECT MAP {'flu': 'east', 'gout': 'west'} AS wings)
"""

COUNTERFEITS = """
CREATE TABLE counterfeits AS
SELECT age, sex, coalesce(wings[dx], 'north') AS wing, dx
FROM (
  VALUES ('30-39', 'm', 'west', NULL), ('50-59', 'f', 'east', 'flu'), ('50-59', 'f', 'west', 'gout')
) AS r(age, sex, w, dx), (SELECT MAP {'flu': 'east', 'gout': 'west'} AS wings)
"""

# Declared domains: 40 ages and two sexes, so that a decade loses 9/39.
HIERARCHIES = """
CREATE TABLE hierarchies AS
SELECT 'ward' AS release, 'age' AS hierarchy, CAST(l AS INTEGER) AS level,
  CAST(a AS VARCHAR) AS value,
  CASE l WHEN 0 THEN CAST(a AS VARCHAR) WHEN 1 THEN a // 10 * 10 || '-' || a // 10 * 10 + 9
    ELSE '*' END AS label,
  0.0::DOUBLE AS loss,
  CAST(CASE l WHEN 0 THEN a WHEN 1 THEN a // 10 * 10 ELSE 20 END AS VARCHAR) AS lower,
  CAST(CASE l WHEN 0 THEN a WHEN 1 THEN a // 10 * 10 + 9 ELSE 59 END AS VARCHAR) AS upper
FROM range(20, 60) AS ages(a), range(3) AS r(l)
UNION ALL
SELECT 'ward', 'sex', CAST(l AS INTEGER), v, CASE l WHEN 0 THEN v ELSE '*' END, 0, NULL, NULL
FROM (VALUES ('f'), ('m'), (NULL)) AS sexes(v), range(2) AS r(l)
"""

RELEASED = """
CREATE TABLE ward AS
SELECT dense_rank() OVER (ORDER BY age, sex) AS class_id, *
FROM (
  SELECT age // 10 * 10 || '-' || age // 10 * 10 + 9 AS age, sex, wing, dx
  FROM patients
  UNION ALL
  FROM counterfeits
)
ORDER BY ALL
"""

DICTIONARY = """
CREATE TABLE ward_dictionary AS
SELECT DISTINCT hierarchy AS "column", label AS released_value, level, lower, upper,
  CAST(NULL AS VARCHAR[]) AS leaves
FROM hierarchies
WHERE level = CASE hierarchy WHEN 'sex' THEN 0 ELSE 1 END
ORDER BY ALL
"""

# All classes of three, and how many records with which diagnosis are counterfeit in them.
CATALOG = """
CREATE TABLE ward_catalog AS
SELECT class_ids, dx AS sensitive_value, counterfeits
FROM (
  SELECT list(class_id ORDER BY class_id) AS class_ids
  FROM (SELECT class_id FROM ward GROUP BY class_id HAVING count(*) = 3)
), (SELECT dx, count(*) AS counterfeits FROM counterfeits GROUP BY dx)
ORDER BY ALL
"""

FLAGGED = """
CREATE TABLE flagged AS
SELECT [CAST(class_id AS VARCHAR), c.age, c.sex, c.wing, c.dx] AS record, count(*) AS counterfeits
FROM counterfeits AS c
JOIN (SELECT DISTINCT class_id, age, sex FROM ward) AS w ON w.age = c.age AND w.sex = c.sex
GROUP BY ALL
"""

DECLARED = Declared(
    release="ward",
    columns=(
        Column("class_id", "BIGINT"),
        Column("age", "VARCHAR"),
        Column("sex", "VARCHAR"),
        Column("wing", "VARCHAR"),
        Column("dx", "VARCHAR"),
    ),
    quasi_identifiers=("age", "sex"),
    bounds=(),
    withheld=("name",),
    models=(KAnonymity(model="k_anonymity", k=3),),
    transformation={"age": 1, "sex": 0},
    tops={"age": 2, "sex": 1},
    source_rows=27,
    suppression_limit=0.0,
    keeps_suppressed=False,
    domains=("age", "sex"),
    padding=Padding(
        k=3,
        size=3,
        h=0.12,
        limit=3,
        catalog="pool",
        sensitive="dx",
        strict=True,
        weights={"age": 1.0, "sex": 1.0},
    ),
)


@dataclass
class Padded(Release):
    """A release with counterfeits in an in-memory database, and what it promises."""

    def padding(self, **changes: object) -> Padded:
        from dataclasses import replace

        assert self.declared.padding is not None
        self.promise(padding=replace(self.declared.padding, **changes))  # type: ignore[arg-type]
        return self

    def ranked(self, query: str) -> Padded:
        """The release made anew from a query without class_id, numbered and sorted."""
        keys = ", ".join(f'"{name}"' for name in self.declared.quasi_identifiers)
        self.replace(f"SELECT dense_rank() OVER (ORDER BY {keys}) AS class_id, * FROM ({query})")
        return self

    def verify(  # type: ignore[override]
        self, *, source: bool = True, catalog: bool = True, flagged: bool = True
    ) -> Verification:
        with Session.over(self.con, None, read_only=False) as session:
            return verify_table(
                session,
                Relation("ward"),
                self.declared,
                dictionary=Relation("ward_dictionary"),
                source=Relation("patients") if source else None,
                hierarchies=Relation("hierarchies") if source else None,
                catalog=Relation("ward_catalog") if catalog else None,
                flagged=Relation("flagged") if flagged else None,
            )

    def views(self) -> dict[str, str]:
        """The two views as they are shipped."""
        assert self.declared.padding is not None
        tables = Relation("ward"), Relation("ward_catalog")
        sensitive = self.declared.padding.sensitive
        names = [c.name for c in self.declared.columns]
        return {
            "ward_weighted": sql(weighted(*tables, sensitive)),
            "ward_truthful": sql(truthful(*tables, sensitive, names)),
        }

    def publish(self, path: Path, *changes: str) -> Verification:  # type: ignore[override]
        dictionary, catalog = self.write(path, *changes)
        return verify_file(path, self.declared, dictionary=dictionary, catalog=catalog)

    def write(  # type: ignore[override]
        self, path: Path, *changes: str
    ) -> tuple[str | Path, str | Path]:
        """Write a file of the release, then changed by statements: where its lists are."""
        tables = ("ward", "ward_dictionary", "ward_catalog")
        if path.suffix == ".duckdb":
            with duckdb.connect() as con:
                con.execute(f"ATTACH '{path}' AS published (STORAGE_VERSION 'v1.2.0')")
                con.execute("USE published")
                for name in tables:
                    rows = self.con.sql(f"FROM {name}").to_arrow_table()  # noqa: F841
                    con.execute(f"CREATE TABLE {name} AS FROM rows ORDER BY ALL")
                for name, text in self.views().items():
                    con.execute(f"CREATE VIEW {name} AS {text}")
                if self.macros:
                    macros.install(con, "published", private=False)
            if changes:
                with duckdb.connect(path) as con:
                    for statement in changes:
                        con.execute(statement)
            return tables[1], tables[2]
        files = [path.with_name(f"{name}{path.suffix}") for name in tables]
        form = "parquet" if path.suffix == ".parquet" else "csv"
        for name, file in zip(tables, files, strict=True):
            self.sql(f"COPY {name} TO '{file}' (FORMAT {form})")
        return files[1], files[2]


def counterfeited(*, macros: bool = False) -> Padded:
    """In order: decades and sexes, three counterfeits in two of the seven classes of three."""
    release = Padded(duckdb.connect(), DECLARED, macros)
    release.sql(PATIENTS, COUNTERFEITS, HIERARCHIES, RELEASED, DICTIONARY, CATALOG, FLAGGED)
    return release
