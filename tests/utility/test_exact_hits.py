"""Rows of a release that are rows of its source, counted in Python too."""

from __future__ import annotations

from collections import Counter

import duckdb
import numpy as np
import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.utility.fidelity.exact_hits import Hits, exact_hits

TYPES = "a INTEGER, b VARCHAR, c DOUBLE, d DATE"


def counted(source: list[tuple[object, ...]], released: list[tuple[object, ...]]) -> Hits:
    with duckdb.connect() as con:
        for name, rows in (("source", source), ("released", released)):
            con.execute(f"CREATE TABLE {name} ({TYPES})")
            if rows:
                con.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", rows)
        with Session.over(con, None, read_only=False) as session:
            tables = session.relation("source"), session.relation("released")
            return exact_hits(session, *tables, ["a", "b", "c", "d"])


@pytest.mark.parametrize("seed", range(4))
def test_counts_are_those_of_python(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def rows(number: int) -> list[tuple[object, ...]]:
        return [
            (
                [None, 1, 2][rng.integers(3)],
                [None, "x", ""][rng.integers(3)],
                float(rng.integers(3)) / 10,
                f"2020-01-0{rng.integers(1, 4)}",
            )
            for _ in range(number)
        ]

    source, released = rows(60), rows(50)
    of_source = Counter(source)
    assert counted(source, released) == Hits(
        released=50,
        equal=sum(of_source[row] > 0 for row in released),
        equal_unique=sum(of_source[row] == 1 for row in released),
    )


def test_a_missing_value_equals_a_missing_one_and_no_empty_text() -> None:
    source = [(None, None, None, None), (1, "", 0.5, None)]
    assert counted(source, [(None, None, None, None), (1, None, 0.5, None)]) == Hits(2, 1, 1)


def test_a_release_without_rows_hits_nothing() -> None:
    found = counted([(1, "x", 1.0, "2020-01-01")], [])
    assert (found.share, found.share_of_unique) == (0, 0)
