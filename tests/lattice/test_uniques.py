"""Unique records by sets of columns, and costs in loss: against brute force on small tables."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.lattice import uniques
from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import Problem
from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.objectives import LOSS
from dbdeid.lattice.rule import Rule
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.full_domain.search.costs import costs
from dbdeid.methods.full_domain.searches import SEARCHES

ROWS = st.lists(st.tuples(*[st.integers(0, 3)] * 4, st.integers(0, 5)), min_size=1, max_size=25)


def tuples_of(rows: list[tuple[int, ...]], *, by_subject: bool) -> Tuples:
    """Rows of four codes and a subject as a search sees them."""
    counted: dict[tuple[int, ...], int] = defaultdict(int)
    numbers = {s: i for i, s in enumerate(sorted({row[-1] for row in rows}))}
    for row in rows:
        counted[(*row[:-1], numbers[row[-1]]) if by_subject else row[:-1]] += 1
    keys = np.array(list(counted), np.uint32)
    weights = np.array(list(counted.values()), np.int64)
    codes = tuple(keys[:, i] for i in range(4))
    return Tuples(codes, weights, keys[:, 4] if by_subject else None)


def brute(rows: list[tuple[int, ...]], columns: tuple[int, ...], *, by_subject: bool) -> int:
    held: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        held[tuple(row[c] for c in columns)].append(row[-1] if by_subject else number)
    return sum(len(who) for who in held.values() if len(set(who)) == 1)


@given(ROWS, st.booleans())
def test_counts_are_those_of_brute_force(rows: list[tuple[int, ...]], by_subject: bool) -> None:
    found = uniques.Uniques(tuples_of(rows, by_subject=by_subject))
    for size in range(5):
        for columns in combinations(range(4), size):
            assert found.count(columns) == brute(rows, columns, by_subject=by_subject)
    halves = np.array([0, 0, 1, 1], np.uint32)
    coarse = [(row[0], row[1] // 2, *row[2:]) for row in rows]
    assert found.coarser(1, halves) == brute(coarse, (0, 1, 2, 3), by_subject=by_subject)


@given(ROWS, st.booleans())
def test_the_worst_set_of_each_size_is_named(rows: list[tuple[int, ...]], by_subject: bool) -> None:
    before = -1
    for one in uniques.Uniques(tuples_of(rows, by_subject=by_subject)).worst():
        some = combinations(range(4), len(one.columns))
        assert one.unique == max(brute(rows, c, by_subject=by_subject) for c in some)
        assert one.unique == brute(rows, one.columns, by_subject=by_subject)
        assert one.exhaustive
        assert one.unique > before
        before = one.unique


def test_large_tables_grow_their_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(i % 4, i // 4 % 4, i % 3, i % 2, i) for i in range(24)]
    monkeypatch.setattr(uniques, "WORK", 0)
    found = list(uniques.Uniques(tuples_of(rows, by_subject=False)).worst())
    assert len(found) > 1
    assert not any(one.exhaustive for one in found)
    for smaller, larger in pairwise(found):
        assert set(smaller.columns) < set(larger.columns)


def test_codes_of_many_values_are_told_apart() -> None:
    rng = np.random.default_rng(7)
    codes = tuple(rng.integers(0, 2**32 - 1, 500, np.uint32) for _ in range(4))
    tuples = Tuples(codes, np.ones(500, np.int64))
    assert uniques.Uniques(tuples).count(range(4)) == 500
    twice = Tuples(tuple(np.concatenate((c, c)) for c in codes), np.ones(1000, np.int64))
    assert uniques.Uniques(twice).count(range(4)) == 0


def attribute(name: str) -> Attribute:
    """Four values, two pairs of them, and `*`."""
    groups = ([0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0])
    loss = (0.0, 1 / 3, 1.0)
    return Attribute(
        name,
        tuple(np.array(g, np.uint32) for g in groups),
        tuple(np.full(4, one) for one in loss),
    )


@pytest.mark.full
@settings(max_examples=examples(25))
@given(ROWS.filter(lambda rows: len(rows) > 2), st.integers(2, 3))
def test_costs_are_bounded_by_what_all_transformations_would_win(
    rows: list[tuple[int, ...]], k: int
) -> None:
    tuples = tuples_of(rows, by_subject=False)
    lattice = Lattice(tuple(attribute(name) for name in "abcd"))
    checker = NumpyChecker(lattice, tuples, Rule(k))
    problem = Problem(
        lattice,
        tuples,
        checker,
        limit=len(rows) // 4,
        objective=LOSS,
        accept=lambda check: check.classes > 0,
    )
    found = costs(problem, SEARCHES["optimal"], 60.0)
    if len(rows) < k:
        assert found is None
        return
    assert found is not None
    assert found.proven
    loss_of = (0.0, 1 / 3, 1.0)
    assert found.loss == pytest.approx([loss_of[level] for level in found.node])
    for i in range(4):
        assert found.without[i] <= found.others(i) + 1e-12
        best = min(
            sum(loss_of[level] for j, level in enumerate(node) if j != i) / 3
            for node in np.ndindex(3, 3, 3, 3)
            if node[i] == 2
            and checker.check(node).classes
            and checker.check(node).suppressed <= problem.limit
        )
        assert best <= found.without[i] + 1e-12
