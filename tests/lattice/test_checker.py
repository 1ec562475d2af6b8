from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tiers
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import (
    CounterChecker,
    Mixed,
    RecordChecker,
    problems,
    random_problem,
    random_values,
    ruled_problems,
)
from realdata import reordered
from tiers import examples

from dbdeid.lattice import counter, grouping
from dbdeid.lattice import packed_columns as columns
from dbdeid.lattice.check import Check, Lost
from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.rule import Rule
from dbdeid.lattice.tuples import Tuples


def same(found: Check, expected: Check) -> bool:
    """Whether two checks are the same but for rounding."""

    def close(a: float, b: float) -> bool:
        return a == pytest.approx(b, rel=1e-12, abs=1e-12)

    exact = replace(
        found,
        suppressed_loss=expected.suppressed_loss,
        chance=expected.chance,
        below=replace(found.below, loss=expected.below.loss),
    )
    return (
        exact == expected
        and close(found.suppressed_loss, expected.suppressed_loss)
        and close(found.chance, expected.chance)
        and close(found.below.loss, expected.below.loss)
    )


@pytest.mark.full
@given(problems(), st.integers(1, 9))
@settings(max_examples=examples(80), deadline=None)
def test_a_check_is_what_counting_finds(problem, k):
    lattice, tuples = problem
    expected = CounterChecker(lattice, tuples, Rule(k))
    found = NumpyChecker(lattice, tuples, Rule(k))
    for node in list(lattice.nodes())[:80]:
        assert same(found.check(node), expected.check(node))


@pytest.mark.full
@given(ruled_problems())
@settings(max_examples=examples(300), deadline=None)
def test_every_rule_keeps_what_its_definition_keeps(problem):
    lattice, tuples, rule = problem
    found, expected = NumpyChecker(lattice, tuples, rule), RecordChecker(lattice, tuples, rule)
    for node in list(lattice.nodes())[:30]:
        assert same(found.check(node), expected.check(node))


@pytest.mark.full
@given(ruled_problems())
@settings(max_examples=examples(100), deadline=None)
def test_what_is_suppressed_at_least_only_becomes_less_above(problem):
    lattice, tuples, rule = problem
    checker = NumpyChecker(lattice, tuples, rule)
    for node in list(lattice.nodes())[:20]:
        less = checker.check(node)
        for above in lattice.successors(node):
            more = checker.check(above).below
            assert more.records <= less.below.records <= less.suppressed
            assert more.subjects <= less.below.subjects <= less.suppressed_subjects


@given(ruled_problems())
@settings(max_examples=examples(20), deadline=None)
def test_a_value_code_of_a_class_is_one_of_its_own(problem):
    lattice, tuples, _ = problem
    seen = []

    def look(node, codes, sizes):
        seen.append((node, codes))
        return np.ones(len(sizes), bool), np.ones(len(sizes), bool)

    look.of_all = lambda subjects: True
    look.covered = lambda node, codes: True
    checker = NumpyChecker(lattice, replace(tuples, values=()), Rule(1, populations=(look,)))
    for node in list(lattice.nodes())[:20]:
        checker.check(node)
        codes = seen.pop()[1]
        of_rows, of_classes = (
            {
                tuple(a.groups[v][c] for a, v, c in zip(lattice.attributes, node, row, strict=True))
                for row in zip(*columns, strict=True)
            }
            for columns in (tuples.codes, codes)
        )
        assert of_rows == of_classes


@pytest.mark.parametrize("rule", [Rule(2, linked=True), Rule(2, "wildcard")])
def test_a_rule_that_cannot_be_counted_is_refused(rule):
    lattice, tuples = random_problem(seed=1, width=2, rows=10)
    subjects = None if rule.linked else np.arange(len(tuples.weights))
    with pytest.raises(ValueError, match="subjects"):
        NumpyChecker(lattice, replace(tuples, subjects=subjects), rule)


PATHS = {
    "scan": {"SCANNED": 10**9},
    "address": {"SCANNED": 0},
    "sort": {"SCANNED": 0, "ADDRESSED": 0},
    "one attribute a column": {"PACKED": 1},
    "roll-up": {"ROLLED_UP": 1},
    "roll-up of sorted": {"ROLLED_UP": 1, "SCANNED": 0, "ADDRESSED": 0, "PACKED": 64},
    "no room for class tables": {"ROLLED_UP": 1, "TABLE_BYTES": 2000, "LOOKUP_BYTES": 2000},
}


@pytest.mark.full
@pytest.mark.parametrize("path", PATHS)
def test_all_paths_find_the_same(path, monkeypatch):
    for name, value in PATHS[path].items():
        (owner,) = (m for m in (grouping, columns, counter) if hasattr(m, name))
        monkeypatch.setattr(owner, name, value)
    lattice, tuples = random_problem(seed=3, width=4, rows=1500)
    found, expected = (maker(lattice, tuples, Rule(4)) for maker in (NumpyChecker, CounterChecker))
    fewer, some = random_problem(seed=3, width=4, rows=150)
    valued = replace(some, values=(random_values(some, 6),))
    rule = Rule(4, conditions=(Mixed(2, 0.6),))
    makers = NumpyChecker, RecordChecker
    found_valued, expected_valued = (maker(fewer, valued, rule) for maker in makers)
    rng = np.random.default_rng(1)
    for index in [0, *tiers.some(rng.integers(0, lattice.size, 40), 4), lattice.size - 1]:
        node = lattice.node(int(index))
        assert same(found.check(node), expected.check(node))
        node = fewer.node(int(index) % fewer.size)
        assert same(found_valued.check(node), expected_valued.check(node))


def wide_problem(weight: int) -> tuple[Lattice, Tuples]:
    """Eleven attributes of 300 values each: 300^11 keys do not fit 64 bits."""
    rng = np.random.default_rng(2)
    identity, one = np.arange(300, dtype=np.uint32), np.zeros(300, dtype=np.uint32)
    loss = (np.zeros(300), np.ones(300))
    lattice = Lattice(tuple(Attribute(f"q{i}", (identity, one), loss) for i in range(11)))
    codes = tuple(rng.integers(0, 300, 400).astype(np.uint16) for _ in range(11))
    codes[0][:200] = codes[1][:200] = 7
    return lattice, Tuples(codes, np.full(400, weight))


@pytest.mark.parametrize("weight", [1, 10**9])
def test_keys_beyond_64_bits(weight, monkeypatch):
    monkeypatch.setattr(grouping, "ROLLED_UP", 100)
    lattice, tuples = wide_problem(weight)
    found, expected = (
        maker(lattice, tuples, Rule(2 * weight)) for maker in (NumpyChecker, CounterChecker)
    )
    for node in [
        (0,) * 11,
        (0, 0) + (1,) * 9,
        (0, 0, 0) + (1,) * 8,
        (1,) * 11,
        (1,) * 5 + (0,) * 6,
    ]:
        assert same(found.check(node), expected.check(node))


def test_squares_beyond_64_bits():
    lattice, tuples = wide_problem(10**10)
    check = NumpyChecker(lattice, tuples, Rule(5)).check(lattice.top)
    assert check.squares_all == check.squares_kept == (400 * 10**10) ** 2


@pytest.mark.full
@pytest.mark.parametrize("rolled_up", [1, 10**9])
def test_the_order_of_the_tuples_is_nothing_to_a_check(rolled_up, monkeypatch):
    monkeypatch.setattr(grouping, "ROLLED_UP", rolled_up)
    lattice, tuples = random_problem(seed=5, width=5, rows=3000)
    shuffled = reordered(tuples, np.random.default_rng(0).permutation(len(tuples.weights)))
    first, second = (NumpyChecker(lattice, t, Rule(3)) for t in (tuples, shuffled))
    for index in range(0, lattice.size, max(lattice.size // 60, 1)):
        assert first.check(lattice.node(index)) == second.check(lattice.node(index))


def test_no_tuples_no_classes():
    lattice, tuples = random_problem(seed=1, width=3, rows=10)
    empty = Tuples(tuple(c[:0] for c in tuples.codes), tuples.weights[:0])
    assert NumpyChecker(lattice, empty, Rule(2)).check(lattice.bottom) == Check(
        lattice.bottom, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, True, Lost(0, 0, 0.0)
    )


def test_a_node_outside_the_lattice_is_refused():
    lattice, tuples = random_problem(seed=1, width=3, rows=10)
    with pytest.raises(ValueError, match="outside"):
        NumpyChecker(lattice, tuples, Rule(2)).check((99, 0, 0))


def test_class_tables_stay_within_their_room(monkeypatch):
    monkeypatch.setattr(grouping, "ROLLED_UP", 1)
    monkeypatch.setattr(grouping, "TABLE_BYTES", 20_000)
    lattice, tuples = random_problem(seed=3, width=5, rows=4000)
    checker = NumpyChecker(lattice, tuples, Rule(4))
    for index in range(0, lattice.size, max(lattice.size // 100, 1)):
        checker.check(lattice.node(index))
        assert sum(table.nbytes for table in checker._grouper._tables.values()) <= 20_000
