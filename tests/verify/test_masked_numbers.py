"""Quasi-identifiers that are means: proven from the owner's crosswalk, made by hand in SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import duckdb
import pytest
from handmade import Release, failed

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.privacy import KAnonymity
from dbdeid.verify import Declared, Verification, verify_table

# Three groups of three, of which the first two read alike.
KNOWN = """
CREATE TABLE known AS
FROM (
  VALUES
    (1, 10, DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:01', 'f', 'a'),
    (1, 20, DATE '2020-01-02', TIMESTAMP '2020-01-01 00:00:01', 'f', 'b'),
    (1, NULL, NULL, NULL, 'm', 'c'),
    (2, 15, DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:01', 'f', 'd'),
    (2, 15, DATE '2020-01-02', NULL, 'f', 'e'),
    (2, 15, NULL, NULL, NULL, 'f'),
    (3, NULL, DATE '2021-05-01', NULL, 'm', 'g'),
    (3, NULL, DATE '2021-05-01', NULL, NULL, 'h'),
    (3, NULL, DATE '2021-05-02', NULL, 'x', 'i')
) AS r(grp, age, born, seen, sex, dx)
"""

MASKED = """
CREATE TABLE masked AS
SELECT
  known.*,
  CASE WHEN grp < 3 THEN 15.0::DOUBLE END AS age_,
  CASE WHEN grp < 3 THEN DATE '2020-01-02' ELSE DATE '2021-05-01' END AS born_,
  CASE WHEN grp < 3 THEN TIMESTAMP '2020-01-01 00:00:01' END AS seen_,
  CASE WHEN grp < 3 THEN 'f' ELSE 'm' END AS sex_
FROM known
"""

WRITTEN = (
    "CREATE OR REPLACE TABLE patients AS SELECT age, born, seen, sex, dx FROM known",
    """CREATE OR REPLACE TABLE ward AS
SELECT age_ AS age, born_ AS born, seen_ AS seen, sex_ AS sex, dx FROM masked ORDER BY ALL""",
    """CREATE OR REPLACE TABLE crosswalk AS
SELECT [age::VARCHAR, born::VARCHAR, seen::VARCHAR, sex] AS source,
  [age_::VARCHAR, born_::VARCHAR, seen_::VARCHAR, sex_, dx] AS record, count(*) AS records
FROM masked GROUP BY ALL""",
)

DECLARED = Declared(
    release="ward",
    columns=(
        Column("age", "DOUBLE"),
        Column("born", "DATE"),
        Column("seen", "TIMESTAMP"),
        Column("sex", "VARCHAR"),
        Column("dx", "VARCHAR"),
    ),
    quasi_identifiers=("age", "born", "seen", "sex"),
    bounds=(),
    withheld=(),
    models=(KAnonymity(model="k_anonymity", k=3),),
    transformation={},
    tops=dict.fromkeys(("age", "born", "seen", "sex"), 1),
    source_rows=9,
    suppression_limit=0.0,
    keeps_suppressed=False,
    explained=False,
)
TRUE = {"source_rows": 9, "missing_records": 0, "invented_records": 0, "other_means": 0}


@dataclass
class Masked(Release):
    """A release of means in an in-memory database."""

    def verify(self, *, crosswalk: bool = True) -> Verification:  # type: ignore[override]
        with Session.over(self.con, None, read_only=False) as session:
            return verify_table(
                session,
                Relation("ward"),
                self.declared,
                dictionary=None,
                source=Relation("patients"),
                crosswalk=Relation("crosswalk") if crosswalk else None,
            )


def masked() -> Masked:
    release = Masked(duckdb.connect(), DECLARED)
    release.sql(KNOWN, MASKED, *WRITTEN)
    return release


def found(verification: Verification) -> Any:
    return next(p.found for p in verification.promises if p.model == "means")


def test_the_release_itself_is_verified() -> None:
    verification = masked().verify()
    assert verification.verified, verification.failures
    assert [p.model for p in verification.promises] == [
        "k_anonymity",
        "suppression_limit",
        "means",
    ]
    assert found(verification) == TRUE


def test_without_the_crosswalk_nothing_is_proven() -> None:
    verification = masked().verify(crosswalk=False)
    assert failed(verification) == {"means"}


# What is written in place of the means, and how many records are then wrong.
MASKS = {
    "a mean a bit off": ("age_ = age_ + 1e-6", "grp < 3", 6),
    "a mean of some": ("age_ = 10", "grp < 3", 6),
    "a mean of unknowns": ("age_ = 15", "grp = 3", 3),
    "no mean of known": ("age_ = NULL", "grp < 3", 6),
    "another day": ("born_ = born_ + 1", "grp = 3", 3),
    "no day": ("born_ = NULL", "grp = 3", 3),
    "another second": ("seen_ = seen_ + INTERVAL 1 SECOND", "grp < 3", 6),
    "the rarer": ("sex_ = 'm'", "grp < 3", 6),
    "the last of several": ("sex_ = 'x'", "grp = 3", 3),
    "unknown before a value": ("sex_ = NULL", "grp = 3", 3),
    "nobody's": ("sex_ = 'y'", "grp = 3", 3),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("change", "rows", "records"), MASKS.values(), ids=list(MASKS))
def test_other_values_than_the_means_are_found(change: str, rows: str, records: int) -> None:
    release = masked()
    release.sql(f"UPDATE masked SET {change} WHERE {rows}", *WRITTEN)
    verification = release.verify()
    assert failed(verification) == {"means"}
    assert found(verification) == TRUE | {"other_means": records}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("off", "wrong"), [(0, 0), (1, 6), (100, 6)])
def test_large_numbers_hide_no_other_mean(off: int, wrong: int) -> None:
    release = masked()
    release.sql(
        "CREATE OR REPLACE TABLE known AS "
        "SELECT * REPLACE (age + 1000000000000000 AS age) FROM known",
        "CREATE OR REPLACE TABLE masked AS SELECT * REPLACE (age + 1000000000000000 AS age, "
        "age_ + 1000000000000000 AS age_) FROM masked",
        f"UPDATE masked SET age_ = age_ + {off} WHERE grp < 3",
        *WRITTEN,
    )
    verification = release.verify()
    assert found(verification) == TRUE | {"other_means": wrong}
    assert verification.verified == (not wrong)


def test_rounding_is_no_other_mean() -> None:
    release = masked()
    release.sql(
        "UPDATE masked SET age_ = age_ + 2e-15, seen_ = seen_ + INTERVAL 400 MILLISECOND "
        "WHERE grp < 3",
        *WRITTEN,
    )
    assert release.verify().verified


# How the release, its source or the crosswalk is changed.
LIES = {
    "a record less": "DELETE FROM ward WHERE dx = 'a'",
    "a record twice": "INSERT INTO crosswalk FROM crosswalk WHERE record[5] = 'a'",
    "another diagnosis": "UPDATE ward SET dx = 'z' WHERE dx = 'a'",
    "another source": "UPDATE patients SET age = 11 WHERE dx = 'a'",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("lie", LIES.values(), ids=list(LIES))
def test_lists_that_are_not_of_source_and_release_prove_nothing(lie: str) -> None:
    release = masked()
    release.sql(lie)
    verification = release.verify()
    assert "means" in failed(verification)
    assert found(verification)["missing_records"] + found(verification)["invented_records"] > 0


@pytest.mark.full
def test_two_records_of_other_groups_exchanged_are_found() -> None:
    release = masked()
    release.sql(
        "UPDATE masked SET dx = CASE dx WHEN 'a' THEN 'g' ELSE 'a' END WHERE dx IN ('a', 'g')",
        *WRITTEN[1:],
    )
    assert failed(release.verify()) == {"means"}


def test_a_smaller_class_is_found() -> None:
    release = masked()
    release.sql("UPDATE masked SET age_ = 15.5 WHERE dx = 'a'", *WRITTEN)
    assert failed(release.verify()) == {"k_anonymity", "means"}
