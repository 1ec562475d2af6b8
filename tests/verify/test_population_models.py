"""Models over a population as promises of a written table, and what breaks them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from handmade import Release, failed, handmade
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp
from tiers import examples

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Relation
from dbdeid.privacy import MODELS
from dbdeid.verify import Verification

# Three people for each patient of an age under 70, of the same decade, area and sex.
TOWN = """
CREATE TABLE town AS
SELECT age AS c0, zip AS c1, sex AS c2, 2 + i AS people
FROM patients, range(2) AS r(i) WHERE age < 70
"""


def model(name: str, **parameters: Any) -> Any:
    return MODELS[name](model=name, **{"population": "town", **parameters})


K_MAP = model("k_map", k=25)
PRESENCE = model("delta_presence", min=0.2, max=0.2)
JOURNALIST = model("max_risk", attacker="journalist", threshold=0.04)
ALL = (K_MAP, PRESENCE, JOURNALIST)


def town() -> Release:
    return handmade().sql(TOWN).promise(models=ALL)


def verified(release: Release) -> Verification:
    return release.verify(populations={"town": exp.select("*").from_("town")})


def test_what_the_release_keeps() -> None:
    found = verified(town())
    assert found.verified, found.failures
    assert [p.found for p in found.promises[:3]] == [25, {"min": 0.2, "max": 0.2}, 0.04]
    assert [p.declared for p in found.promises[:3]] == [m.declared for m in ALL]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("change", "names", "shown"),
    [
        (
            "UPDATE town SET people = people - 1 WHERE c0 = 20 AND c2 = 'f'",
            {"k_map", "delta_presence", "max_risk"},
            23,
        ),
        (
            "UPDATE town SET c2 = 'm' WHERE c2 = 'f'",
            {"k_map", "delta_presence", "max_risk"},
            0,
        ),
        ("UPDATE town SET people = people + 1", {"delta_presence"}, 35),
        (
            "UPDATE town SET c2 = NULL WHERE rowid = 0",
            {"k_map", "delta_presence", "max_risk"},
            23,
        ),
        (
            "INSERT INTO town VALUES (200, '00000', 'f', 4)",
            {"k_map", "delta_presence", "max_risk"},
            "4 people without a place in the hierarchies",
        ),
        (
            "DELETE FROM hierarchies WHERE hierarchy = 'age' AND value = '20'",
            {"k_map", "delta_presence", "max_risk"},
            "10 people without a place in the hierarchies",
        ),
    ],
)
def test_another_population(change: str, names: set[str], shown: Any) -> None:
    found = verified(town().sql(change))
    assert names <= failed(found)
    assert found.promises[0].found == shown


def test_a_class_that_was_shifted() -> None:
    release = town()
    release.replace(
        "SELECT * REPLACE ('[90, 100)' AS age) FROM ward WHERE age = (SELECT min(age) FROM ward)"
        " UNION ALL SELECT * FROM ward WHERE age > (SELECT min(age) FROM ward)"
    )
    found = verified(release)
    assert {"k_map", "delta_presence", "max_risk"} <= failed(found)
    assert [p.found for p in found.promises[:3]] == [
        0,
        {"min": 0.0, "max": "infinite"},
        "infinite",
    ]


def test_a_class_of_more_records() -> None:
    release = town()
    release.replace("FROM ward UNION ALL (FROM ward LIMIT 1)")
    found = verified(release)
    assert "delta_presence" in failed(found)
    assert found.promises[1].found == {"min": 0.2, "max": 6 / 25}


def test_everyone_fits_the_suppressed_that_are_kept() -> None:
    release = town().promise(keeps_suppressed=True)
    star = "'*' AS age, NULL AS age_lower, NULL AS age_upper, '*' AS zip, '*' AS sex"
    release.replace(f"FROM ward UNION ALL SELECT {star}, dx FROM patients WHERE age = 77")
    least = 1 / 100
    found = verified(release)
    assert failed(found) & {m.model for m in ALL} == {"delta_presence"}
    assert found.promises[1].found == {"min": least, "max": 0.2}


def test_null_fits_null() -> None:
    release = town().sql(
        "UPDATE patients SET sex = NULL WHERE sex = 'f'",
        "UPDATE hierarchies SET value = NULL, label = NULL WHERE value = 'f' AND level = 0",
        "UPDATE town SET c2 = NULL WHERE c2 = 'f'",
        "UPDATE ward_dictionary SET released_value = NULL WHERE released_value = 'f'",
    )
    release.replace("SELECT * REPLACE (nullif(sex, 'f') AS sex) FROM ward")
    found = verified(release)
    assert not failed(found) & {m.model for m in ALL}
    assert found.promises[0].found == 25


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"null_policy": "wildcard"}, "not measurable where a NULL matches everything"),
        ({"null_policy": "exclude"}, "5 records without a class"),
    ],
)
def test_nulls_of_other_policies(changes: dict[str, Any], words: str) -> None:
    release = town().promise(**changes)
    release.replace(
        "SELECT * REPLACE (CASE WHEN rowid < 5 THEN NULL ELSE sex END AS sex) FROM ward"
    )
    assert [p.found for p in verified(release).promises[:3]] == [words] * 3


def test_what_a_missing_column_leaves_unmeasured() -> None:
    found = verified(town().replace("SELECT * EXCLUDE (zip) FROM ward"))
    assert [p.found for p in found.promises[:3]] == ["not measurable without 'zip'"] * 3


def test_a_population_that_is_not_given() -> None:
    found = town().verify()
    assert [p.found for p in found.promises[:3]] == ["not measurable without its population"] * 3
    assert {m.model for m in ALL} <= failed(found)


def test_who_fits_no_class_is_known_to_be_absent() -> None:
    release = town().sql("INSERT INTO town SELECT age, zip, sex, 4 FROM patients WHERE age = 77")
    found = verified(release)
    assert failed(found) == {"delta_presence"}
    assert found.promises[1].found == {"min": 0.0, "max": 0.2}
    found = verified(release.promise(models=(model("delta_presence", max=0.2),)))
    assert found.verified, found.failures


def test_an_empty_release_shows_everybody_to_be_absent() -> None:
    release = town().promise(suppression_limit=1.0).replace("SELECT * FROM ward WHERE false")
    found = verified(release)
    assert failed(found) & {m.model for m in ALL} == {"delta_presence"}
    assert found.promises[1].found == {"min": 0.0, "max": 0.0}


@pytest.mark.full
@pytest.mark.parametrize("kind", [".duckdb", ".parquet", ".csv"])
def test_a_file_is_not_held_to_a_population(tmp_path: Path, kind: str) -> None:
    found = town().publish(tmp_path / f"ward{kind}")
    assert not {p.model for p in found.promises} & {m.model for m in ALL}
    assert found.verified, found.failures


# -- the measure and the predicate --------------------------------------------------------------

CLASSES = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 400)), max_size=12)
SHARES = st.sampled_from([0.0, 0.001, 0.05, 0.1, 0.2, 1 / 3, 0.5, 0.7, 1.0])
Opened = tuple[duckdb.DuckDBPyConnection, Session]


@pytest.fixture(scope="module")
def opened() -> Iterator[Opened]:
    """One database for all examples."""
    with duckdb.connect() as con, Session.over(con, None, read_only=False) as session:
        yield con, session


@settings(max_examples=examples(100), deadline=None)
@given(CLASSES, st.integers(1, 60), SHARES, SHARES)
def test_a_measure_holds_where_the_predicate_does_for_each_class(
    opened: Opened, classes: list[tuple[int, int]], k: int, one: float, other: float
) -> None:
    sizes, people = (np.array([c[i] for c in classes], np.int64) for i in range(2))
    models = [
        model("k_map", k=k),
        model("delta_presence", min=min(one, other), max=max(one, other)),
        *([model("max_risk", attacker="journalist", threshold=one)] if one else []),
    ]
    con, session = opened
    con.execute("CREATE OR REPLACE TABLE c (class_size BIGINT, people BIGINT)")
    if classes:
        con.executemany("INSERT INTO c VALUES (?, ?)", classes)
    for asked in models:
        rows: Any = Relation("c")
        if asked.model == "max_risk":
            rows = exp.select("people AS class_size").from_("c")
        found = session.row(asked.measure(rows))
        assert asked.holds(*found) == bool(asked.satisfied(sizes, people).all()), asked
        necessary = asked.necessary(sizes, people)
        assert (necessary | ~asked.satisfied(sizes, people)).all()


@settings(max_examples=examples(100), deadline=None)
@given(CLASSES, CLASSES, st.integers(1, 60), SHARES, SHARES)
def test_what_is_necessary_stays_as_classes_meet(
    classes: list[tuple[int, int]],
    others: list[tuple[int, int]],
    k: int,
    one: float,
    other: float,
) -> None:
    pairs = [*zip(classes, others, strict=False)]
    first, both = (
        np.array([[n + with_ * m, g + with_ * h] for (n, g), (m, h) in pairs], np.int64)
        .reshape(-1, 2)
        .T
        for with_ in (0, 1)
    )
    for asked in (
        model("k_map", k=k),
        model("delta_presence", min=min(one, other), max=max(one, other)),
        model("max_risk", attacker="journalist", threshold=one or 0.1),
    ):
        assert (asked.necessary(*both) | ~asked.necessary(*first)).all()


def test_the_handmade_town_is_as_it_is_said() -> None:
    con = town().con
    rows = con.execute("SELECT c0 // 10, left(c1, 3), c2, people FROM town").fetchall()
    fitting: Counter[Any] = Counter()
    for *key, people in rows:
        fitting[tuple(key)] += people
    assert sorted(fitting.values()) == [25, 25, 25, 25]
