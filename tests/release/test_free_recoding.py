"""Releases whose blocks choose intervals and sets of values, from spec to answers."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pytest
import zoo

import dbdeid
from dbdeid.errors import HierarchyError, SpecError

K, L = 3, 2
PEOPLE = """
CREATE TABLE people AS SELECT
  CASE WHEN i % 31 = 0 THEN NULL ELSE 20 + (i * 7) % 60 END AS age,
  ((i * 37) % 400) / 8 AS mass,
  ((i * 29) % 300 / 4)::DECIMAL(6, 2) AS paid,
  DATE '2019-01-01' + (i * 17 % 500)::INT AS seen,
  TIMESTAMP '2024-02-20 10:00:00' + INTERVAL (i * 7) HOUR AS taken,
  ['north', 'east', 'south', 'west'][1 + i * 3 % 7 % 4] AS ward,
  CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
  ['asthma', 'flu', 'none'][1 + i % 3] AS illness
FROM range(240) AS r (i)
"""
FREE: dict[str, Any] = {
    "age": {"free": True, "lower": 0, "upper": 120},
    "mass": "free",
    "paid": "free",
    "seen": {"free": True, "lower": "2019-01-01", "upper": "2021-01-01"},
    "taken": "free",
    "ward": "free",
    "sex": "suppress",
}
RANGES = ("age", "mass", "paid", "seen", "taken")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zoo.fill(owned)
    return tmp_path


def owned() -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute(PEOPLE)


def spec(*names: str, **more: Any) -> dict[str, Any]:
    columns: dict[str, Any] = dict.fromkeys(FREE, "drop")
    for name in names:
        columns[name] = {"role": "quasi_identifier", "hierarchy": FREE[name]}
    columns["illness"] = {"role": "sensitive", "accept": "homogeneity"}
    return {
        "release": "people_public",
        "database": "owner.duckdb",
        "source": "people",
        "columns": columns,
        "privacy": [
            {"model": "k_anonymity", "k": K},
            {"model": "l_diversity", "column": "illness", "l": L},
        ],
        "method": {"name": "local_recoding"},
        "evaluate": {"metrics": []},
        "seed": 7,
        **more,
    }


def rows(query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect("owner.duckdb", read_only=True) as con:
        return con.execute(query).fetchall()


def everything() -> dict[str, Any]:
    """All kinds of columns, with bounds and files."""
    output = {"bounds": True, "export": ["out.parquet", "out.csv"]}
    return spec(*FREE, output=output, evaluate={"metrics": ["loss", "downcoding"]})


def test_each_block_shows_the_ends_of_its_values_and_its_members() -> None:
    result = zoo.run(everything())
    assert result.verified
    assert (result.released_rows, result.suppressed_rows) == (240, 0)
    names = ", ".join(FREE)
    held: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for *cells, illness in rows(f"SELECT {names}, illness FROM people_public"):
        held[tuple(cells)].append(illness)
    assert all(len(own) >= K and len({*own}) >= L for own in held.values())
    listed = {
        (column, value): (level, lower, upper, leaves)
        for column, value, level, lower, upper, leaves in rows("FROM people_public_dictionary")
    }
    known = {
        column: {str(value) for (value,) in rows(f"SELECT {column}::VARCHAR FROM people")}
        for column in RANGES
    }
    for (column, value), (level, lower, upper, leaves) in listed.items():
        if column in RANGES and level == 1:
            ends = value[1:-1].split(", ")
            assert {*ends} <= known[column]
            if column in ("age", "seen"):
                assert [lower, upper] == ends
            elif column in ("mass", "paid"):
                assert float(lower) == float(ends[0])
                assert 0 < float(upper) - float(ends[1]) < 0.011
        elif column == "ward" and level == 1:
            assert value.split(" | ") == sorted(leaves)
    assert any(level == 1 and column == "ward" for (column, _), (level, *_) in listed.items())
    assert {level for (column, _), (level, *_) in listed.items() if column == "mass"} == {1}
    assert dbdeid.verify(everything()).verified


QUESTIONS = (
    "SELECT count(*) FROM people WHERE age BETWEEN 30 AND 44",
    "SELECT count(*) FROM people WHERE mass < 20.5 AND sex = 'f'",
    "SELECT count(*) FROM people WHERE paid >= 30.25",
    "SELECT count(*) FROM people WHERE seen >= DATE '2019-06-01' AND seen < DATE '2020-01-01'",
    "SELECT count(*) FROM people WHERE taken < TIMESTAMP '2024-03-10 00:00:00'",
    "SELECT count(*) FROM people WHERE ward IN ('north', 'west') AND age > 50",
    "SELECT sum(mass) FROM people WHERE illness = 'flu'",
)


@pytest.mark.parametrize(
    "question", [QUESTIONS[0], *(pytest.param(q, marks=pytest.mark.full) for q in QUESTIONS[1:])]
)
def test_the_truth_lies_between_the_bounds_of_each_answer(question: str) -> None:
    zoo.run(everything())
    answer = dbdeid.query(everything(), question)
    value, lower, upper = answer.rows[0]
    truth = rows(question)[0][0]
    assert lower <= truth <= upper
    assert lower <= value <= upper


ENTRY = 'UPDATE people_public_dictionary SET {} WHERE "column" = {!r} AND level = 1'
FORGED = {
    "a lower bound": ENTRY.format("lower = '0'", "age"),
    "an upper bound": ENTRY.format("upper = '99.5'", "mass"),
    "members": ENTRY.format("leaves = ['east']", "ward"),
    "a level": ENTRY.format("level = 0", "paid"),
}


@pytest.mark.full
@pytest.mark.parametrize("statement", FORGED.values(), ids=[*FORGED])
def test_a_dictionary_that_says_something_else_is_found(statement: str) -> None:
    zoo.run(everything())
    with duckdb.connect("owner.duckdb") as con:
        con.execute(statement)
    found = dbdeid.verify(everything())
    failed = {c.check for c in found.hygiene if not c.holds}
    assert {"dictionary", "dictionary_rebuilt"} & failed


@pytest.mark.full
def test_mondrian_cuts_by_values() -> None:
    result = dbdeid.run(
        spec("age", "ward", "sex", method={"name": "local_recoding", "algorithm": "mondrian"})
    )
    assert result.verified
    assert result.search["name"] == "mondrian"


def test_people_count_where_they_have_several_records() -> None:
    source = {"sql": "SELECT *, hash(mass) % 80 AS person FROM people", "name": "people"}
    made = spec("age", "ward", source=source, subject="person")
    made["columns"]["person"] = "identifier"
    made["privacy"] = [{"model": "k_anonymity", "k": K}]
    assert dbdeid.run(made).verified


def test_a_set_of_long_values_is_no_name_and_one_of_names_is() -> None:
    long = "['the ' || ward || 'ern part of the town' FOR x IN [1]][1] AS ward"
    source = {"sql": f"SELECT * REPLACE ({long}) FROM people", "name": "people"}
    assert dbdeid.run(spec("age", "ward", "sex", source=source)).verified
    mails = "'person' || (age // 3) || '@example.org' AS ward"
    source = {"sql": f"SELECT * REPLACE ({mails}) FROM people", "name": "people"}
    with pytest.raises(SpecError, match="direct identifier"):
        dbdeid.run(spec("age", "ward", "sex", source=source))


def test_a_value_with_a_bar_is_refused() -> None:
    source = {"sql": "SELECT * REPLACE (ward || ' | x' AS ward) FROM people", "name": "people"}
    with pytest.raises(HierarchyError, match="bar"):
        dbdeid.run(spec("ward", source=source))


def test_numbers_that_are_none_are_refused() -> None:
    source = {"sql": "SELECT * REPLACE ('nan'::DOUBLE AS mass) FROM people", "name": "people"}
    with pytest.raises(HierarchyError, match="finite"):
        dbdeid.run(spec("mass", source=source))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another method": ({"method": {"name": "full_domain"}}, "goes with method local_recoding"),
    "an algorithm that counts bits": (
        {"method": {"name": "local_recoding", "algorithm": "paper"}},
        "does not go with algorithm paper",
    ),
    "an objective of bits": (
        {"method": {"name": "local_recoding", "objective": "node_entropy"}},
        "does not go with objective",
    ),
    "safe": (
        {"method": {"name": "local_recoding", "minimality": "safe"}},
        "does not go with minimality: safe",
    ),
    "sql": (
        {"method": {"name": "local_recoding", "engine": "sql"}},
        "does not go with engine: sql",
    ),
}


@pytest.mark.parametrize(("more", "why"), REFUSED.values(), ids=[*REFUSED])
def test_what_does_not_go_with_it_is_refused(more: dict[str, Any], why: str) -> None:
    with pytest.raises(SpecError, match=why):
        dbdeid.check(spec("age", "ward", **more))


@pytest.mark.parametrize(
    ("name", "keys", "why"),
    [
        ("age", {"hierarchy": "free", "min_level": 1}, "min_level and max_level"),
        ("age", {"hierarchy": {"free": True, "lower": "2020-01-01"}}, "must be numbers"),
        ("seen", {"hierarchy": {"free": True, "upper": 3}}, "must be dates"),
        ("ward", {"hierarchy": {"free": True, "upper": 3}}, "sets of values"),
        ("ward", {"hierarchy": {"free": True, "prefix": [1]}}, "free stands alone"),
        ("ward", {"hierarchy": "fre"}, "unknown hierarchy"),
    ],
)
def test_keys_that_say_nothing_are_refused(name: str, keys: dict[str, Any], why: str) -> None:
    made = spec(name)
    made["columns"][name] = {"role": "quasi_identifier", **keys}
    with pytest.raises(SpecError, match=why):
        dbdeid.check(made)
