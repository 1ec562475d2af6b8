"""The risk of a policy as a promise of the written table, and mutants that break it."""

from __future__ import annotations

from typing import Any

import pytest
from handmade import Release, failed, handmade
from sqlglot import exp

from dbdeid.verify import Verification
from dbdeid.verify.base.declaration import PolicyRisk, Promise

# 20 patients in 4 classes of 5; each patient is a cell of the source, and stands for 4 people.
TOWN = """
CREATE TABLE town AS
SELECT age AS c0, zip AS c1, sex AS c2, 4 AS people FROM patients
"""


def ward(risk: float, *, population: str | None = "town", measure: str = "population") -> Release:
    """The handmade release without the suppressed patient, as one under a policy."""
    release = handmade().sql("DELETE FROM patients WHERE age > 70", TOWN)
    weighed = PolicyRisk(measure, population, risk)
    return release.promise(source_rows=20, suppression_limit=0.0, weighed=weighed)


def verified(release: Release) -> Verification:
    return release.verify(populations={"town": exp.select("*").from_("town")})


def promise(found: Verification) -> Promise:
    return next(p for p in found.promises if p.model == "policy")


# Σ n/g is 4 · 5/20 of the release, and 20 · 1/4 of the source.
RISK = 0.2
NOBODY = "records of the source are like nobody in its population"


@pytest.mark.parametrize("population", ["town", None])
def test_the_release_itself(population: str | None) -> None:
    found = verified(ward(RISK, population=population))
    assert found.verified, found.failures
    assert promise(found).found == pytest.approx(RISK)
    shown = {"risk": RISK, "measure": "population"}
    assert promise(found).declared == shown | ({"population": "town"} if population else {})


@pytest.mark.sampled(2)
@pytest.mark.parametrize("population", ["town", None])
def test_more_risk_than_was_chosen(population: str | None) -> None:
    found = verified(ward(RISK - 1e-6, population=population))
    assert failed(found) == {"policy"}
    assert verified(ward(RISK + 0.1, population=population)).verified


MUTANTS = {
    "a label split": (
        "SELECT * REPLACE (CASE WHEN rowid % 2 = 0 THEN '[10, 20)' ELSE age END AS age) FROM ward",
    ),
    "a record at its own value": (
        "SELECT * REPLACE (CASE rowid WHEN 0 THEN '37100' ELSE zip END AS zip) FROM ward",
    ),
    "a record moved to another class": (
        "SELECT * REPLACE (CASE rowid WHEN 0 THEN 'other' ELSE sex END AS sex) FROM ward",
    ),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("population", ["town", None])
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_finer_release(mutant: str, population: str | None) -> None:
    release = ward(RISK, population=population)
    release.replace(*MUTANTS[mutant])
    found = verified(release)
    assert "policy" in failed(found)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("change", "shown"),
    [
        # nobody is like a record: the risk of the source is no number to be a share of
        ("DELETE FROM town WHERE c2 = 'f' AND c0 > 25", NOBODY),
        ("UPDATE town SET c2 = 'm'", NOBODY),
        ("UPDATE town SET c0 = 22 WHERE c0 = 20", NOBODY),
        (
            "INSERT INTO town VALUES (200, '00000', 'f', 4)",
            "4 people without a place in the hierarchies",
        ),
        (
            "DELETE FROM hierarchies WHERE hierarchy = 'age' AND value = '20'",
            "8 people without a place in the hierarchies",
        ),
    ],
)
def test_another_population(change: str, shown: Any) -> None:
    found = verified(ward(RISK).sql(change))
    assert "policy" in failed(found)
    assert promise(found).found == shown


def test_more_people_alone_do_not_matter() -> None:
    """Twice as many people halve the risk of the release and of the source alike."""
    found = verified(ward(RISK).sql("UPDATE town SET people = 2 * people"))
    assert promise(found).found == pytest.approx(RISK)


def test_a_population_that_is_gone() -> None:
    found = ward(RISK).verify()
    assert failed(found) == {"policy"}
    assert promise(found).found == "not measurable without its population"


def test_another_source() -> None:
    """The share is that of a source with less risk of its own: its records are alike."""
    release = ward(RISK, population=None)
    release.sql("UPDATE patients SET zip = min FROM (SELECT min(zip) AS min FROM patients)")
    release.sql("UPDATE patients SET age = age // 10 * 10")
    found = verified(release)
    assert "policy" in failed(found)
    assert promise(found).found > RISK


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("people", "shown"),
    [("UPDATE town SET people = 1", 0.0), ("UPDATE town SET people = 2", 0.0)],
)
def test_uniques(people: str, shown: float) -> None:
    found = verified(ward(0.0, measure="uniques").sql(people))
    assert found.verified, found.failures
    assert promise(found).found == shown


def test_somebody_unique() -> None:
    release = ward(0.0, measure="uniques").sql("UPDATE town SET people = 1")
    release.replace(
        "SELECT * REPLACE (CASE rowid WHEN 0 THEN '37100' ELSE zip END AS zip) FROM ward"
    )
    release.sql("INSERT INTO hierarchies SELECT * REPLACE ('37100' AS label) FROM hierarchies "
                "WHERE hierarchy = 'zip' AND level = 1 AND value = '37100'")  # fmt: skip
    assert "policy" in failed(verified(release))


def test_a_source_without_the_risk() -> None:
    """Nothing of nothing is nothing; something of nothing is more than anybody chose."""
    release = ward(0.5, population=None, measure="uniques")
    release.sql("UPDATE patients SET zip = '37100', sex = 'f', age = 20")
    assert promise(verified(release)).found == 0
    release.replace(
        "SELECT * REPLACE (CASE rowid WHEN 0 THEN 'other' ELSE sex END AS sex) FROM ward"
    )
    assert promise(verified(release)).found == "infinite"
