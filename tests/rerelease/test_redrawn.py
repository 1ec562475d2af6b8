"""Counterfeit and synthetic records that are drawn anew beside an earlier release of the source."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
import zoo
from patients import EVERYTHING, fill, spec

import dbdeid
from dbdeid.errors import Unsatisfiable
from dbdeid.release.result import RunResult

COUNTERFEIT = {"name": "counterfeit", "h": 0.6, "max_counterfeits": 0.5}
Row = tuple[str, str, str]  # age, zip, illness


@pytest.fixture
def con() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    filled(con)
    return con


@pytest.fixture
def released_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[duckdb.DuckDBPyConnection, RunResult]]:
    """A database of which there is a release with k = 3, and that."""
    monkeypatch.chdir(tmp_path)
    first = zoo.fill(once)
    with duckdb.connect("hospital.duckdb") as con:
        yield con, first


def once() -> RunResult:
    with duckdb.connect("hospital.duckdb") as con:
        filled(con)
        return dbdeid.run(counterfeit(3), con)


def filled(con: duckdb.DuckDBPyConnection) -> None:
    draw = random.Random(0)
    fill(
        con,
        [
            (i, draw.randrange(EVERYTHING), draw.randrange(EVERYTHING), draw.choice("abcdefgh"))
            for i in range(300)
        ],
    )


def counterfeit(k: int, **more: Any) -> dict[str, Any]:
    return spec((0, 0), k, method=COUNTERFEIT, seed=2**70) | more


def rows(con: duckdb.DuckDBPyConnection, name: str) -> list[Row]:
    return con.execute(f"SELECT age::VARCHAR, zip::VARCHAR, illness FROM {name}").fetchall()


def fits(one: Row, other: Row) -> bool:
    """Whether both can be the same person's: labels that overlap, and the same illness."""

    def ends(label: str) -> tuple[int, int]:
        low, _, high = label.strip("[)").partition(", ")
        return int(low), int(high or int(low) + 1)

    pairs = [(ends(one[i]), ends(other[i])) for i in (0, 1)]
    return one[2] == other[2] and all(max(a[0], b[0]) < min(a[1], b[1]) for a, b in pairs)


@pytest.mark.full
def test_counterfeits_of_another_k_are_told_by_who_has_both_and_refused(
    released_once: tuple[duckdb.DuckDBPyConnection, RunResult],
) -> None:
    con, first = released_once
    assert first.counterfeit_rows == 0
    before = rows(con, "patients_public")
    second = counterfeit(4, release="patients_second")
    told = "31 of 31 counterfeit records are new in it"
    with pytest.raises(Unsatisfiable, match="counterfeit records can be told from") as refused:
        dbdeid.run({**second, "rerelease": "strict"}, con)
    assert told in str(refused.value)
    result = dbdeid.run(second, con)
    assert result.transformation != first.transformation
    (found,) = result.rerelease
    assert found["redrawn"]
    assert any("draw the same" in w for w in result.warnings)
    # an attacker: who fits nobody of the first release is counterfeit, of those there are
    lone = [row for row in rows(con, "patients_second") if not any(fits(row, b) for b in before)]
    assert 5 <= len(lone) < result.counterfeit_rows == 31
    # by their number all of them: the first release has none
    assert (found["exposed"], found["counterfeits"], found["exposed_before"]) == (31, 31, 0)
    assert any(told in w for w in result.warnings)
    if tiers.full:
        with pytest.raises(Unsatisfiable, match=told):
            dbdeid.run({**second, "rerelease": "strict"}, con)


LEVELS = [((0, 2), (2, 0)), ((1, 1), (0, 2)), ((1, 1), (1, 1))]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("one", "other"), LEVELS)
def test_what_two_releases_expose_is_what_is_counted_row_by_row(
    con: duckdb.DuckDBPyConnection, one: tuple[int, int], other: tuple[int, int]
) -> None:
    results, tables = [], []
    for name, levels, seed in (("first", one, 2**70), ("second", other, 2**71)):
        columns = spec(levels)["columns"]
        for column, level in zip(("age", "zip"), levels, strict=True):
            columns[column] = columns[column] | {"min_level": level, "max_level": level}
        asked = counterfeit(20, release=f"patients_{name}", columns=columns, seed=seed)
        asked["method"] = {**COUNTERFEIT, "h": 1.0}
        results.append(dbdeid.run(asked, con))
        tables.append(rows(con, f"patients_{name}"))
    first, second = results
    assert list(second.transformation.values()) == list(other)
    (found,) = second.rerelease
    # by hand: people of a cell of the coarser of the two levels, with an illness, are in both
    width = [(1, 2, 4, 8)[max(a, b)] for a, b in zip(one, other, strict=True)]

    def cells(table: list[Row]) -> Counter[Row]:
        low = [[int(r[i].strip("[").split(",")[0]) // width[i] for i in (0, 1)] for r in table]
        return Counter((str(a), str(z), r[2]) for (a, z), r in zip(low, table, strict=True))

    before, now = map(cells, tables)
    people = Counter(
        (str(a // width[0]), str(z // width[1]), illness)
        for a, z, illness in con.execute("SELECT age, zip, illness FROM patients").fetchall()
    )
    assert not people - before
    assert not people - now
    assert found["exposed"] == (now - before).total()
    assert found["exposed_before"] == (before - now).total()
    assert found["counterfeits"] == (now - people).total() == second.counterfeit_rows > 0
    assert found["counterfeits_before"] == first.counterfeit_rows
    assert found["exposed"] + found["exposed_before"] > 0


@pytest.mark.full
def test_of_another_source_nothing_is_counted(
    released_once: tuple[duckdb.DuckDBPyConnection, RunResult],
) -> None:
    con, _ = released_once
    con.execute("DELETE FROM patients WHERE number = 7")
    (found,) = dbdeid.run(counterfeit(4, release="patients_second"), con).rerelease
    assert found["redrawn"]
    assert (found["exposed"], found["exposed_before"]) == (0, None)


@pytest.mark.full
def test_a_plain_release_beside_one_with_counterfeits_tells_them_too(
    con: duckdb.DuckDBPyConnection,
) -> None:
    padded = dbdeid.run(counterfeit(4), con)
    assert padded.counterfeit_rows > 0
    (found,) = dbdeid.run(spec((1, 1), 4, release="patients_plain"), con).rerelease
    assert found["redrawn"]
    assert not dbdeid.run(counterfeit(4), con).rerelease[-1]["redrawn"]  # the same records again


@pytest.mark.full
def test_synthetic_records_that_are_drawn_otherwise_are_told_and_refused(
    con: duckdb.DuckDBPyConnection,
) -> None:
    asked: dict[str, Any] = {
        "release": "patients_synthetic",
        "source": "patients",
        "columns": {
            "number": "identifier",
            **dict.fromkeys(("age", "zip"), "synthesize"),
            "illness": "drop",
        },
        "privacy": [{"model": "cluster_size", "k": 20}],
        "evaluate": {"metrics": []},
        "method": {"name": "condensation"},
        "seed": 2**70,
        "rerelease": "strict",
    }
    dbdeid.run(asked, con)
    (same,) = dbdeid.run(asked, con).rerelease
    assert not same["redrawn"]
    others = ({"seed": 2**71}, {"privacy": [{"model": "cluster_size", "k": 21}]}, {"release": "o"})
    for other in others:
        with pytest.raises(Unsatisfiable, match="drawn again and otherwise"):
            dbdeid.run({**asked, **other}, con)
