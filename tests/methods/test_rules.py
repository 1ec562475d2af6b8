"""Releases under every rule against their definitions, record by record, on random tables."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import Any

import duckdb
import pytest
import tiers
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import generalized, spec

import dbdeid

Key = tuple[Any, ...]
ROW = st.tuples(
    st.integers(0, 7),
    st.sampled_from(["a", "b", "c", None]),
    st.integers(0, 2),
    st.integers(0, 6),
)


@dataclass(frozen=True)
class Case:
    """What one release asks for."""

    k: int
    limit: float
    policy: str
    by_subject: bool
    linked: bool
    keep: bool
    engine: str

    def spec(self) -> dict[str, Any]:
        given = spec(
            self.k, self.limit, suppressed="keep" if self.keep else "drop", engine=self.engine
        )
        given["null_policy"] = self.policy
        given["columns"]["who"] = "drop"
        if self.by_subject:
            given["subject"] = "who"
            given["columns"]["who"] = {"role": "identifier", "pseudonym": self.linked}
        return given


@st.composite
def cases(draw: st.DrawFn) -> Case:
    policy = draw(st.sampled_from(["own_category", "wildcard", "exclude"]))
    by_subject = policy != "wildcard" and draw(st.booleans())
    return Case(
        draw(st.integers(1, 4)),
        draw(st.sampled_from([0.0, 0.2, 0.5])),
        policy,
        by_subject,
        by_subject and draw(st.booleans()),
        draw(st.booleans()),
        "numpy" if policy == "wildcard" else draw(st.sampled_from(["numpy", "sql"])),
    )


def stays(keys: list[Key], people: list[int], case: Case) -> list[bool]:
    """Which records stay, from the definitions alone."""
    kept = [case.policy != "exclude" or None not in key for key in keys]
    if case.linked:
        sets = {
            p: frozenset(k for k, q in zip(keys, people, strict=True) if p == q) for p in people
        }
        alike = Counter(sets.values())
        out = {p for p, stay in zip(people, kept, strict=True) if not stay}
        return [p not in out and alike[sets[p]] >= case.k for p in people]
    while True:
        present = [i for i, stay in enumerate(kept) if stay]
        sizes = {
            key: len({people[i] for i in present if meets(key, keys[i], case)}) for key in keys
        }
        still = [stay and sizes[key] >= case.k for stay, key in zip(kept, keys, strict=True)]
        if still == kept:
            return kept
        kept = still


def meets(one: Key, other: Key, case: Case) -> bool:
    wild = case.policy == "wildcard"
    return all(a == b or (wild and None in (a, b)) for a, b in zip(one, other, strict=True))


@dataclass(frozen=True)
class Outcome:
    loss: float
    released: Counter[Key]
    suppressed_rows: int


def outcomes(rows: list[Key], case: Case) -> dict[Key, Outcome]:
    """What every transformation within the limit would release."""
    low = min(r[0] for r in rows) // 4 * 4
    high = max(r[0] for r in rows) // 4 * 4 + 4
    people = [row[3] for row in rows] if case.by_subject else list(range(len(rows)))
    found = {}
    for node in itertools.product(range(4), range(3), range(2)):
        cells = [generalized(row[:3], node, low, high) for row in rows]
        keys = [tuple(label for label, _ in row) for row in cells]
        kept = stays(keys, people, case)
        lost = {p for p, stay in zip(people, kept, strict=True) if not stay}
        if len(lost) > case.limit * len(set(people)) + 1e-9 or not any(kept):
            continue
        if case.keep and 0 < len(lost) < case.k:
            continue
        loss = sum(
            sum(part for _, part in row) if stay else 3
            for row, stay in zip(cells, kept, strict=True)
        )
        out = Counter(key for key, stay in zip(keys, kept, strict=True) if stay)
        found[node] = Outcome(loss / 3 / len(rows), out, len(rows) - sum(kept))
    return found


@pytest.mark.full
@settings(max_examples=12 if tiers.full else 3, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=16), cases())
def test_a_release_is_the_best_that_its_rule_allows(rows: list[Key], case: Case) -> None:
    expected = outcomes(rows, case)
    with pytest.MonkeyPatch.context() as patch, duckdb.connect() as con:
        patch.setenv("DBDEID_PSEUDONYM_KEY", "0123456789abcdef" * 2)
        con.execute("CREATE TABLE t (n INTEGER, c VARCHAR, x INTEGER, who INTEGER)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        try:
            found = dbdeid.run(case.spec(), con)
        except dbdeid.Unsatisfiable:
            assert not expected
            return
        assert found.verified
        assert found.search["proven_optimal"]
        best = min(outcome.loss for outcome in expected.values())
        assert found.loss == pytest.approx(best, rel=1e-11, abs=1e-12)
        outcome = expected[tuple(found.transformation[name] for name in "ncx")]
        assert found.suppressed_rows == outcome.suppressed_rows
        assert found.source_subjects == len({r[3] for r in rows} if case.by_subject else rows)
        released = con.execute("SELECT n, c, x FROM r").fetchall()
    star = ("*", "*", "*")
    if case.keep and outcome.suppressed_rows:
        assert released.count(star) == outcome.suppressed_rows + outcome.released[star]
    assert len([r for r in released if r != star]) == sum(
        n for key, n in outcome.released.items() if key != star
    )
    # the labels of numbers are texts here, so only the sizes of classes are compared
    sizes = Counter(n for key, n in Counter(released).items() if key != star)
    assert sizes == Counter(n for key, n in outcome.released.items() if key != star)


ROWS = [(1, "a", 0, 1), (1, "a", 0, 1), (1, "a", 0, 1), (5, "c", 1, 2), (5, "c", 1, 3)]


def release(con: duckdb.DuckDBPyConnection, **changes: Any) -> dbdeid.RunResult:
    con.execute("CREATE OR REPLACE TABLE t (n INTEGER, c VARCHAR, x INTEGER, who INTEGER)")
    con.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", ROWS)
    case = Case(2, 0.5, "own_category", True, False, False, "numpy")
    return dbdeid.run(case.spec() | changes, con)


@pytest.mark.full
def test_one_person_with_many_rows_is_no_class() -> None:
    with duckdb.connect() as con:
        found = release(con)
        assert (found.source_rows, found.source_subjects) == (5, 3)
        assert (found.suppressed_rows, found.smallest_class) == (3, 2)
        rows = con.execute("SELECT DISTINCT c FROM r").fetchall()
        assert rows == [("c",)]


def test_pseudonyms_need_the_key_and_are_those_of_the_function(monkeypatch) -> None:
    pseudonym = {"role": "identifier", "pseudonym": True}
    columns = spec(2, 0.5)["columns"] | {"who": pseudonym}
    with duckdb.connect() as con:
        monkeypatch.delenv("DBDEID_PSEUDONYM_KEY", raising=False)
        with pytest.raises(dbdeid.DataError, match="need a key in"):
            release(con, columns=columns)
        monkeypatch.setenv("DBDEID_PSEUDONYM_KEY", "0123456789abcdef" * 2)
        release(con, columns=columns)
        dbdeid.install(con)
        expected = con.execute(
            "SELECT DISTINCT deid_pseudonym(who::VARCHAR, 'r.who') AS p FROM t WHERE who > 1 "
            "ORDER BY p"
        ).fetchall()
        assert con.execute("SELECT DISTINCT who AS p FROM r ORDER BY p").fetchall() == expected
        assert all(len(p) == 64 for (p,) in expected)
