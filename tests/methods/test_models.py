"""Releases under models of sensitive values against their definitions, on random tables.

Every transformation is tried: classes that break a model by its definition are suppressed, and the
release must be the best of those within the limit, with just these records.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import brute
import duckdb
import pytest
import tiers
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from small_tables import generalized, spec

import dbdeid

ROW = st.tuples(
    st.integers(0, 7),
    st.sampled_from(["a", "b", "c", None]),
    st.integers(0, 1),
    st.integers(0, 8),
    st.integers(0, 3) | st.none(),
)
NEARNESS: list[dict[str, Any]] = [
    {"model": "em_anonymity", "epsilon": 1, "m": 2},
    {"model": "em_anonymity", "epsilon": 0, "m": 3},
]
ITEMS: list[dict[str, Any]] = [
    {"model": "km_anonymity", "k": 2, "m": 1},
    {"model": "km_anonymity", "k": 2, "m": 2},
    {"model": "km_anonymity", "k": 3, "m": 1},
]
LISTED = {0: "a", 1: "a;b", 2: " b;c ;b", 3: "", None: None}
MODELS: list[dict[str, Any]] = [
    {"model": "l_diversity", "l": 2},
    {"model": "l_diversity", "l": 3},
    {"model": "l_diversity", "l": 2, "kind": "entropy"},
    {"model": "l_diversity", "l": 1.7, "kind": "entropy"},
    {"model": "l_diversity", "l": 2, "kind": "recursive", "c": 1.5},
    {"model": "t_closeness", "t": 0.25},
    {"model": "t_closeness", "t": 0.5},
    {"model": "t_closeness", "t": 0.2, "distance": "ordered"},
    {"model": "t_closeness", "t": 0.3, "distance": "hierarchical"},
    {"model": "alpha_k", "k": 2, "alpha": 0.5},
    {"model": "alpha_k", "k": 1, "alpha": 0.4, "values": ["1", "2"]},
    {"model": "basic_beta", "beta": 1},
    {"model": "enhanced_beta", "beta": 2},
    {"model": "delta_disclosure", "delta": 1.5},
    *NEARNESS,
]
GROUPS = {"0": "low", "1": "low", "2": "high", "3": "high"}

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """What one release asks for."""

    k: int
    limit: float
    policy: str
    people: str  # records, subjects, or linked subjects
    keep: bool
    engine: str
    models: tuple[dict[str, Any], ...]

    @property
    def of_items(self) -> bool:
        return any(model["model"] == "km_anonymity" for model in self.models)

    @property
    def by_subject(self) -> bool:
        return self.people != "records"

    def spec(self) -> dict[str, Any]:
        kept = "keep" if self.keep else "drop"
        given = spec(self.k, self.limit, suppressed=kept, engine=self.engine)
        given["null_policy"] = self.policy
        given["privacy"] += [{"column": "s", **model} for model in self.models]
        groups = {"low": ["0", "1"], "high": ["2", "3"]}
        given["columns"]["s"] = {
            "role": "sensitive",
            "hierarchy": {"groups": [groups]},
            "accept": "homogeneity",
            "reason": "drawn at random",
        }
        if self.of_items:
            given["columns"]["s"] |= {"hierarchy": None, "values": "as_written"}
            given["columns"]["s"]["accept"] = ["homogeneity", "looks_like_identifier"]
        given["columns"]["who"] = "drop"
        if self.by_subject:
            given["subject"] = "who"
            linked = self.people == "linked"
            given["columns"]["who"] = {"role": "identifier", "pseudonym": linked}
        return given


cases = st.builds(
    Case,
    st.integers(1, 3),
    st.sampled_from([0.0, 0.3, 0.6]),
    st.sampled_from(["own_category", "exclude"]),
    st.sampled_from(["records", "records", "subjects", "linked"]),
    st.booleans(),
    st.sampled_from(["numpy", "sql"]),
    st.lists(st.sampled_from(MODELS), min_size=1, max_size=2).map(tuple),
)


def path(value: Any) -> tuple[Any, ...]:
    return (None if value is None else GROUPS[str(value)], "*")


@dataclass(frozen=True)
class Judge:
    """Whether records can be a class, by the definitions of the models alone."""

    case: Case
    whole: brute.Counts

    def holds(self, records: list[brute.Record], people: int) -> bool:
        nullable = not self.case.of_items
        held = brute.counts(records, by_subject=self.case.by_subject, nullable=nullable)
        verdicts = [people >= self.case.k]
        for wanted in self.case.models:
            keys = {key: value for key, value in wanted.items() if key != "model"}
            model = brute.model(wanted["model"], column="s", **keys)
            meant = getattr(model, "values", None)
            seen = held
            if meant is not None:  # as text
                values = {None if v is None else str(v): n for v, n in held.values.items()}
                seen = brute.Counts(held.size, values, held.nullable)
            verdict = brute.judge(model, seen, self.whole, path)
            assume(verdict is not None)  # not by rounding
            verdicts.append(bool(verdict))
        return all(verdicts)


def stays(keys: list[Key], rows: list[Key], judge: Judge) -> list[bool]:
    """Which records stay, from the definitions alone."""
    case = judge.case
    people = [row[3] if case.by_subject else i for i, row in enumerate(rows)]
    units: list[Any] = list(keys)
    if case.people == "linked":
        sets = {
            p: frozenset(k for k, q in zip(keys, people, strict=True) if p == q) for p in people
        }
        units = [(sets[p], key) for p, key in zip(people, keys, strict=True)]
    fine = {}
    for unit in units:
        members = [i for i, other in enumerate(units) if other == unit]
        records = [(0, people[i], rows[i][4]) for i in members]
        blank = case.policy == "exclude" and any(None in keys[i] for i in members)
        fine[unit] = not blank and judge.holds(records, len({people[i] for i in members}))
    if case.people != "linked":
        return [fine[unit] for unit in units]
    gone = {p for p, unit in zip(people, units, strict=True) if not fine[unit]}
    return [p not in gone for p in people]


def outcomes(rows: list[Key], case: Case) -> dict[Key, tuple[float, Counter[Key]]]:
    """The loss and the released records of every transformation that can be released."""
    low = min(r[0] for r in rows) // 4 * 4
    high = max(r[0] for r in rows) // 4 * 4 + 4
    people = [row[3] if case.by_subject else i for i, row in enumerate(rows)]
    records = [(0, p, row[4]) for p, row in zip(people, rows, strict=True)]
    judge = Judge(case, brute.counts(records, by_subject=case.by_subject))
    found = {}
    for node in itertools.product(range(4), range(3), range(2)):
        cells = [generalized(row[:3], node, low, high) for row in rows]
        keys = [tuple(label for label, _ in row) for row in cells]
        kept = stays(keys, rows, judge)
        lost = [i for i, stay in enumerate(kept) if not stay]
        who = {people[i] for i in lost}
        if len(who) > case.limit * len(set(people)) + 1e-9 or not any(kept):
            continue
        if case.keep and lost and not judge.holds([records[i] for i in lost], len(who)):
            continue
        loss = sum(
            sum(part for _, part in row) if stay else 3
            for row, stay in zip(cells, kept, strict=True)
        )
        out = Counter(
            (*key, row[4]) for key, row, stay in zip(keys, rows, kept, strict=True) if stay
        )
        found[node] = loss / 3 / len(rows), out
    return found


@settings(max_examples=20 if tiers.full else 3, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=14), cases)
def test_a_release_is_the_best_that_its_models_allow(rows: list[Key], case: Case) -> None:
    _judge_release(rows, case)


@pytest.mark.full
@settings(max_examples=12 if tiers.full else 3, deadline=None)
@given(
    st.lists(ROW, min_size=4, max_size=14),
    cases,
    st.lists(st.sampled_from(NEARNESS), min_size=1, max_size=2).map(tuple),
)
def test_a_release_without_near_values_is_the_best(
    rows: list[Key], case: Case, models: tuple[dict[str, Any], ...]
) -> None:
    """Classes that hold can make one that does not as they merge: no branch may be cut for it."""
    _judge_release(rows, replace(case, models=models))


@settings(max_examples=40 if tiers.full else 5, deadline=None)
@given(
    st.lists(ROW, min_size=4, max_size=14),
    cases,
    st.lists(st.sampled_from(ITEMS), min_size=1, max_size=2).map(tuple),
)
def test_a_release_of_items_that_others_share_is_the_best(
    rows: list[Key], case: Case, models: tuple[dict[str, Any], ...]
) -> None:
    _judge_release(
        [(*row[:4], LISTED[row[4]]) for row in rows],
        replace(case, models=models, people="records"),
    )


def _judge_release(rows: list[Key], case: Case) -> None:
    expected = outcomes(rows, case)
    with pytest.MonkeyPatch.context() as patch, duckdb.connect() as con:
        patch.setenv("DBDEID_PSEUDONYM_KEY", "0123456789abcdef" * 2)
        con.execute("CREATE TABLE t (n INTEGER, c VARCHAR, x INTEGER, who INTEGER, s VARCHAR)")
        if not case.of_items:
            con.execute("ALTER TABLE t ALTER s TYPE INTEGER")
        con.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
        try:
            found = dbdeid.run(case.spec(), con)
        except dbdeid.Unsatisfiable:
            assert not expected
            return
        except dbdeid.SpecError:
            listed = {v for model in case.models for v in model.get("values", ())}
            assert not listed <= {str(row[4]) for row in rows}
            return
        assert found.verified
        assert found.search["proven_optimal"]
        best = min(loss for loss, _ in expected.values())
        assert found.loss == pytest.approx(best, rel=1e-11, abs=1e-12)
        loss, released = expected[tuple(found.transformation[name] for name in "ncx")]
        assert found.loss == pytest.approx(loss, rel=1e-11, abs=1e-12)
        assert found.suppressed_rows == len(rows) - sum(released.values())
        written = Counter(con.execute("SELECT n, c, x, s FROM r").fetchall())
    star = ("*", "*", "*")
    # the labels of numbers are texts here, so only the sizes of classes and values are compared
    sizes = Counter((key[3], n) for key, n in written.items() if key[:3] != star)
    assert sizes == Counter((key[3], n) for key, n in released.items() if key[:3] != star)
