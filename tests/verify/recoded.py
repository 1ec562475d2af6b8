"""A locally recoded release made by hand in SQL: levels differ between classes.

Ages 20 to 39: `a` is 20-24 on level 1 and 20-29 on level 2, and so is released with its level.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
from handmade import Release

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.privacy import KAnonymity, LDiversity
from dbdeid.verify import Declared, Verification, verify_table

HIERARCHIES = """
CREATE TABLE hierarchies AS
SELECT 'ward' AS release, 'age' AS hierarchy, CAST(l AS INTEGER) AS level,
  CAST(a AS VARCHAR) AS value,
  CASE l
    WHEN 0 THEN CAST(a AS VARCHAR)
    WHEN 1 THEN CASE a // 5 WHEN 4 THEN 'a' ELSE a // 5 * 5 || '+' END
    WHEN 2 THEN CASE a // 10 WHEN 2 THEN 'a' ELSE 'b' END
    ELSE '*'
  END AS label,
  0.0::DOUBLE AS loss,
  CAST(CASE l WHEN 0 THEN a WHEN 1 THEN a // 5 * 5 WHEN 2 THEN a // 10 * 10 END AS VARCHAR)
    AS lower,
  CAST(CASE l WHEN 0 THEN a WHEN 1 THEN a // 5 * 5 + 4 WHEN 2 THEN a // 10 * 10 + 9 END AS VARCHAR)
    AS upper
FROM range(20, 40) AS ages(a), range(4) AS r(l)
UNION ALL
SELECT 'ward', 'sex', CAST(l AS INTEGER), v, CASE l WHEN 0 THEN v ELSE '*' END, 0, NULL, NULL
FROM (VALUES ('f'), ('m'), (NULL)) AS sexes(v), range(2) AS r(l)
"""

# Each patient with what is released of age and sex; `who` has several records.
KNOWN = """
CREATE TABLE known AS
FROM (
  VALUES
    (20, 'a@1', 'f', 'f', 'flu', 'Ann'), (21, 'a@1', 'f', 'f', 'gout', 'Bea'),
    (22, 'a@1', 'f', 'f', 'flu', 'Cleo'),
    (23, 'a@2', 'f', '*', 'flu', 'Dora'), (28, 'a@2', 'm', '*', 'gout', 'Emil'),
    (31, 'b', 'm', 'm', 'flu', 'Finn'), (35, 'b', 'm', 'm', 'gout', 'Gus'),
    (30, '30', 'f', 'f', 'flu', 'Hanna'), (30, '30', 'f', 'f', 'gout', 'Ida'),
    (25, '25+', NULL, NULL, 'flu', 'Jo'), (26, '25+', NULL, NULL, NULL, 'Kim'),
    (39, '*', 'f', '*', 'flu', 'Lea'), (39, '*', 'f', '*', 'flu', 'Ann'),
    (20, '*', 'm', '*', 'gout', 'Max')
) AS r(age, shown, sex, shown_sex, dx, who);
CREATE TABLE patients AS SELECT CAST(age AS INTEGER) AS age, sex, dx, who FROM known;
"""

# What is released beside each record, and its bounds.
RECODED = """
CREATE TABLE recoded AS
SELECT CAST(k.age AS VARCHAR) AS age, k.sex, k.who, k.shown, CAST(b.lower AS INTEGER) AS lower,
  CAST(b.upper AS INTEGER) AS upper, k.shown_sex, k.dx
FROM known AS k
JOIN (
  SELECT DISTINCT CASE label WHEN 'a' THEN 'a@' || level ELSE label END AS shown, lower, upper
  FROM hierarchies
  WHERE hierarchy = 'age'
) AS b ON b.shown = k.shown
"""

RELEASED = """
CREATE TABLE ward AS
SELECT shown AS age, lower AS age_lower, upper AS age_upper, shown_sex AS sex, dx
FROM recoded
ORDER BY ALL
"""

DICTIONARY = """
CREATE TABLE ward_dictionary AS
SELECT "column", released_value, CAST(level AS INTEGER) AS level, lower, upper,
  CAST(NULL AS VARCHAR[]) AS leaves
FROM (
  VALUES ('age', 'a@1', 1, '20', '24'), ('age', 'a@2', 2, '20', '29'), ('age', 'b', 2, '30', '39'),
    ('age', '30', 0, '30', '30'), ('age', '25+', 1, '25', '29'), ('age', '*', 3, NULL, NULL),
    ('sex', 'f', 0, NULL, NULL), ('sex', 'm', 0, NULL, NULL), ('sex', NULL, 0, NULL, NULL),
    ('sex', '*', 1, NULL, NULL)
) AS r("column", released_value, level, lower, upper)
ORDER BY ALL
"""

CROSSWALK = """
CREATE TABLE crosswalk AS
SELECT [age, sex] AS source, [shown, lower::VARCHAR, upper::VARCHAR, shown_sex, dx] AS record,
  count(*) AS records
FROM recoded
GROUP BY ALL
"""

CROSSWALK_OF_PEOPLE = """
CREATE OR REPLACE TABLE crosswalk AS
SELECT [age, sex] AS source, [shown, lower::VARCHAR, upper::VARCHAR, shown_sex, dx] AS record,
  subject, count(*) AS records
FROM (SELECT *, dense_rank() OVER (ORDER BY who) - 1 AS subject FROM recoded)
GROUP BY ALL
"""

DECLARED = Declared(
    release="ward",
    columns=(
        Column("age", "VARCHAR"),
        Column("age_lower", "INTEGER"),
        Column("age_upper", "INTEGER"),
        Column("sex", "VARCHAR"),
        Column("dx", "VARCHAR"),
    ),
    quasi_identifiers=("age", "sex"),
    bounds=("age_lower", "age_upper"),
    withheld=("who",),
    models=(
        KAnonymity(model="k_anonymity", k=2),
        LDiversity(model="l_diversity", column="dx", kind="distinct", l=2),
    ),
    transformation={},
    tops={"age": 3, "sex": 1},
    source_rows=14,
    suppression_limit=0.0,
    keeps_suppressed=False,
    local=True,
    as_written=("dx",),  # what is expected by hand takes NULL for a value
)


@dataclass
class Recoded(Release):
    """A locally recoded release in an in-memory database, and what it promises."""

    def verify(  # type: ignore[override]
        self, *, source: bool = True, crosswalk: bool = True
    ) -> Verification:
        with Session.over(self.con, None, read_only=False) as session:
            return verify_table(
                session,
                Relation("ward"),
                self.declared,
                dictionary=Relation("ward_dictionary"),
                source=Relation("patients") if source else None,
                hierarchies=Relation("hierarchies") if source else None,
                crosswalk=Relation("crosswalk") if crosswalk else None,
            )

    def of_people(self) -> Recoded:
        """The same with `who` as its subject."""
        self.sql(CROSSWALK_OF_PEOPLE)
        self.promise(subject="who")
        return self


def recoded(known: str = KNOWN) -> Recoded:
    """Six classes at five signatures; every model holds."""
    release = Recoded(duckdb.connect(), DECLARED)
    release.sql(HIERARCHIES, known, RECODED, RELEASED, DICTIONARY, CROSSWALK)
    return release
