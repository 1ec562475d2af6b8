"""The crosswalk's proof against exhaustive enumeration, on random small tables."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import permutations

import duckdb
import pytest
from tiers import some

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.verify import Declared
from dbdeid.verify.records.crosswalk import traced

# What each value reads on each level: `g` are more values on the second, `y` is always one.
READS: dict[str | None, list[str | None]] = {
    "v": ["v", "g@1", "g@2", "*"],
    "w": ["w", "g@1", "g@2", "*"],
    "x": ["x", "h", "g@2", "*"],
    "y": ["y", "y", "y", "*"],
    None: [None, None, None, "*"],
}
LEVELS = {
    "v": 0, "w": 0, "x": 0, "y": 0, None: 0, "g@1": 1, "h": 1, "g@2": 2, "*": 3
}  # fmt: skip

Source = tuple[str | None, str | None, str]  # two quasi-identifiers and a diagnosis
Pair = tuple[tuple[str | None, str | None], Source]


def recodes(source: Source, released: Source) -> bool:
    """Whether a released record is one of the source, at the levels of the dictionary."""
    ancestors = (
        READS[value][LEVELS[shown]] == shown
        for value, shown in zip(source[:2], released[:2], strict=True)
    )
    return all(ancestors) and source[2] == released[2]


def true(source: list[Source], released: list[Source], told: list[Pair]) -> bool:
    """Whether the records can be told apart one by one as the crosswalk says."""
    wanted = Counter(told)
    return len(source) == len(released) and any(
        all(map(recodes, source, order))
        and Counter((s[:2], r) for s, r in zip(source, order, strict=True)) == wanted
        for order in permutations(released)
    )


def drawn(rng: random.Random) -> tuple[list[Source], list[Source], list[Pair]]:
    """A true release, and what becomes of it, its source or its crosswalk by a few changes."""
    values = rng.sample(list(READS), rng.randint(1, 5))
    source: list[Source] = [
        (rng.choice(values), rng.choice(values), rng.choice("ab")) for _ in range(rng.randint(1, 5))
    ]
    released: list[Source] = [
        (READS[a][rng.randint(0, 3)], READS[b][rng.randint(0, 3)], dx) for a, b, dx in source
    ]
    told: list[Pair] = [(s[:2], r) for s, r in zip(source, released, strict=True)]
    for _ in range(rng.choice([0, 1, 1, 2])):
        rows = rng.choice([source, released])
        i, j = rng.randrange(len(told)), rng.randrange(len(told))
        change = rng.randrange(6)
        if change == 0:  # two are exchanged in the crosswalk
            told[i], told[j] = (told[j][0], told[i][1]), (told[i][0], told[j][1])
        elif change == 1:  # and the diagnoses with them
            old = released[i]
            told[i] = told[i][0], (*told[i][1][:2], told[j][1][2])
            released[i] = (*old[:2], rng.choice("ab"))
        elif change == 2:
            told[i] = told[j]
        elif change == 3:
            rows[rng.randrange(len(rows))] = rng.choice(rows)
        elif change == 4:
            told.append(told[i])
            rows.append(rng.choice(rows))
        else:  # an own ancestor, or another's
            shown = READS[rng.choice(values)][rng.randint(0, 3)]
            made = (shown, *told[i][1][1:])
            if told[i][1] in released:
                released[released.index(told[i][1])] = made
            told[i] = told[i][0], made
    return source, released, told


def found(con: duckdb.DuckDBPyConnection, *tables: list[tuple[object, ...]]) -> bool:
    """What the verifier says."""
    source, released, told = tables
    con.execute("DELETE FROM source; DELETE FROM released; DELETE FROM told")
    for name, rows in (("source", source), ("released", released)):
        con.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)
    rows = [(list(s), list(r), n) for (s, r), n in Counter(told).items()]
    con.executemany("INSERT INTO told VALUES (?, ?, ?)", rows)
    con.execute(
        "CREATE OR REPLACE TABLE listed AS SELECT DISTINCT a.* FROM dictionary AS a "
        "JOIN released AS r ON (a.\"column\" = 'a' AND a.released_value IS NOT DISTINCT FROM r.a) "
        "OR (a.\"column\" = 'b' AND a.released_value IS NOT DISTINCT FROM r.b)"
    )
    declared = replace(RELEASE, source_rows=len(source))
    with Session.over(con, None, read_only=False) as session:
        promise = traced(
            session,
            *(session.relation("released"), declared, session.relation("told"), Relation("source")),
            *(session.relation(name) for name in ("hierarchies", "listed")),
        )
    return promise.holds


RELEASE = Declared(
    release="ward",
    columns=(Column("a", "VARCHAR"), Column("b", "VARCHAR"), Column("dx", "VARCHAR")),
    quasi_identifiers=("a", "b"),
    bounds=(),
    withheld=(),
    models=(),
    transformation={},
    tops={"a": 3, "b": 3},
    source_rows=0,
    suppression_limit=0.0,
    keeps_suppressed=False,
    local=True,
)


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute(
        """
        CREATE TABLE hierarchies (hierarchy VARCHAR, level INTEGER, value VARCHAR, label VARCHAR,
          loss DOUBLE, lower VARCHAR, upper VARCHAR);
        CREATE TABLE dictionary ("column" VARCHAR, released_value VARCHAR, level INTEGER,
          lower VARCHAR, upper VARCHAR, leaves VARCHAR[]);
        CREATE TABLE source (a VARCHAR, b VARCHAR, dx VARCHAR);
        CREATE TABLE released (a VARCHAR, b VARCHAR, dx VARCHAR);
        CREATE TABLE told (source VARCHAR[], record VARCHAR[], records BIGINT)
        """
    )
    for name in ("a", "b"):
        for value, shown in READS.items():
            for level, label in enumerate(shown):
                bare = label.split("@")[0] if label else None
                con.execute(
                    "INSERT INTO hierarchies VALUES (?, ?, ?, ?, 0, NULL, NULL)",
                    [name, level, value, bare],
                )
        for label, level in LEVELS.items():
            con.execute(
                "INSERT INTO dictionary VALUES (?, ?, ?, NULL, NULL, NULL)", [name, label, level]
            )
    return con


@pytest.mark.sampled(6)
@pytest.mark.parametrize("block", range(6))
def test_it_accepts_what_can_be_told_apart_and_nothing_else(
    con: duckdb.DuckDBPyConnection, block: int
) -> None:
    rng = random.Random(block)
    verdicts, number = Counter(), len(some(range(40), 2))
    for _ in range(number):
        source, released, told = drawn(rng)
        expected = true(source, released, told)
        assert found(con, source, released, told) == expected, (source, released, told)
        verdicts[expected] += 1
    assert min(verdicts[True], verdicts[False]) >= number // 5
