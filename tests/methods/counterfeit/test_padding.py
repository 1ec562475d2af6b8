from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from padded_problems import need, padded_problems, shared_out
from random_problems import Mixed, random_problem, random_values
from tiers import examples

from dbdeid.lattice import counter, grouping, packed_columns
from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.methods.counterfeit.search.padding import Need, Padding, quotas


def same(found: Need, expected: Need) -> bool:
    """Whether two needs are the same but for rounding; what is claimed of others aside."""
    exact = replace(
        found,
        degree=expected.degree,
        loss=expected.loss,
        error=expected.error,
        below=expected.below,
    )
    floats = [(n.degree, n.loss, n.error) for n in (found, expected)]
    return exact == expected and floats[0] == pytest.approx(floats[1], rel=1e-11, abs=1e-12)


@pytest.mark.full
@given(padded_problems())
@settings(max_examples=examples(150), deadline=None)
def test_a_node_needs_what_its_records_need(problem):
    padding = problem.padding
    for node in problem.lattice.nodes():
        assert same(padding.need(padding.count(node)), need(problem, node))


@pytest.mark.full
@given(padded_problems())
@settings(max_examples=examples(100), deadline=None)
def test_what_is_claimed_of_other_nodes_is_so(problem):
    padding = problem.padding
    nodes = [*problem.lattice.nodes()]
    needs = [padding.need(padding.count(node)) for node in nodes]
    for i, x in enumerate(needs):
        assert padding.losses[i] == pytest.approx(x.loss, abs=1e-12)
        assert padding.errors[i] <= x.error + 1e-12
        for j, y in enumerate(needs):
            if all(a <= b for a, b in zip(x.node, y.node, strict=True)):
                assert x.counterfeits >= y.counterfeits
                assert not x.holds or x.counterfeits >= y.below or x.node == y.node
                assert padding.losses[i] <= padding.losses[j]
                assert padding.errors[i] <= padding.errors[j]


def test_a_table_by_hand():
    """Classes of 1, 2 and 3 records: a pool of both small ones and the one of three for k = 3."""
    identity, loss = np.arange(4, dtype=np.uint32), (np.zeros(4), np.ones(4))
    lattice = Lattice((Attribute("q", (identity, np.zeros(4, np.uint32)), loss, max_level=0),))
    tuples = Tuples(
        (np.arange(4, dtype=np.uint16),),
        np.array([1, 2, 3, 4]),
        None,
        (
            Values(
                np.array([0, 1, 2, 2, 3]), np.array([0, 0, 0, 1, 1]), np.array([1, 2, 1, 2, 4]), 2
            ),
        ),
    )
    padding = Padding(lattice, tuples, 3, catalog=0)
    found = padding.need(padding.count((0,)))
    # 4 and 2 real records of the values; 2 of 3 counterfeits are of the first, p = 2/3 for both
    assert quotas(np.array([4, 2]), 3).tolist() == [2, 1]
    p, guess = 2 / 3, 1.0  # a leaf and a value are both known
    error = 6 * (1 - (2 * p - p * p) * guess) + 4 * (1 - guess) + 3 * p * p * guess
    assert found == Need((0,), 0.0, 3, 0.0, pytest.approx(error / 10), True, 4, 2, 3, 3)


def test_the_error_is_the_mean_over_all_placements():
    lattice, tuples = random_problem(seed=7, width=2, rows=9)
    tuples = replace(tuples, values=(random_values(tuples, 2),))
    padding = Padding(lattice, tuples, 2, size=3, catalog=0)
    for node in lattice.nodes():
        found = padding.need(padding.count(node))
        if 0 < found.counterfeits <= 8:
            assert found.error == pytest.approx(_mean_error(lattice, tuples, node), abs=1e-12)
            return
    raise AssertionError("no node with few counterfeits")


def _mean_error(lattice: Lattice, tuples: Tuples, node: tuple[int, ...]) -> float:
    """Of k = 2 and m = 3, over all orders of the drawn values."""
    cells = [*zip(tuples.codes, lattice.attributes, node, strict=True)]
    keys = [*zip(*(a.groups[v][c].tolist() for c, a, v in cells), strict=True)]
    guesses = (sum(1 / a.size(v)[c] for c, a, v in cells) + 1) / 3
    guess = dict(zip(keys, guesses.tolist(), strict=True))
    (values,) = tuples.values
    records = [
        (keys[row], value)
        for row, value, count in zip(values.row, values.value, values.count, strict=True)
        for _ in range(count)
    ]
    sizes = Counter(key for key, _ in records)
    slots = [key for key, n in sizes.items() if n < 2 for _ in range(3 - n)]
    pool = {key for key, n in sizes.items() if n != 2 and n <= 3}
    real = Counter(int(s) for key, s in records if key in pool)
    drawn = shared_out(real, len(slots))
    p = {s: n / (n + drawn[s]) for s, n in real.items()}
    fixed = sum(
        1 - (2 * q - q * q) * guess[key]
        for key, s in records
        for q in [p[int(s)] if key in pool else 1.0]
    )
    orders = [*permutations(drawn.elements())]
    placed = [
        sum(p[s] ** 2 * guess[key] for key, s in zip(slots, order, strict=True)) for order in orders
    ]
    return (fixed + sum(placed) / len(placed)) / len(records)


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any),
    st.integers(0, 60),
)
@settings(max_examples=examples(300), deadline=None)
def test_quotas_are_the_largest_remainders(real, total):
    found = quotas(np.array(real), total)
    expected = shared_out(Counter({s: n for s, n in enumerate(real) if n}), total)
    assert found.tolist() == [expected[s] for s in range(len(real))]
    assert found.sum() == total


PATHS = {
    "addressed": {"SCANNED": 0},
    "sorted": {"SCANNED": 0, "ADDRESSED": 0},
    "rolled up": {"ROLLED_UP": 1},
    "rolled up and sorted": {"ROLLED_UP": 1, "SCANNED": 0, "ADDRESSED": 0, "PACKED": 64},
}


@pytest.mark.full
@pytest.mark.parametrize("path", PATHS)
def test_all_ways_to_count_find_the_same(path, monkeypatch):
    lattice, tuples = random_problem(seed=3, width=4, rows=1500)
    tuples = replace(tuples, values=(random_values(tuples, 6),))

    def made() -> Padding:
        return Padding(lattice, tuples, 4, conditions=(Mixed(2, 0.6),), catalog=0)

    usual = made()
    nodes = [lattice.node(int(i)) for i in np.random.default_rng(1).integers(0, lattice.size, 60)]
    expected = [usual.need(usual.count(node)) for node in nodes]
    for name, value in PATHS[path].items():
        (owner,) = (m for m in (grouping, packed_columns, counter) if hasattr(m, name))
        monkeypatch.setattr(owner, name, value)
    other = made()
    for node, one in zip(nodes, expected, strict=True):
        found = other.need(other.count(node))
        assert same(found, one)
        assert found.below == one.below


@pytest.mark.full
def test_conditions_are_of_the_first_values_and_the_catalog_may_be_of_another():
    lattice, tuples = random_problem(seed=4, width=3, rows=200)
    first, second = (random_values(tuples, size) for size in (3, 5))
    both = Padding(
        lattice, replace(tuples, values=(first, second)), 3, conditions=(Mixed(2, 1.0),), catalog=1
    )
    judged = Padding(lattice, replace(tuples, values=(first,)), 3, conditions=(Mixed(2, 1.0),))
    told = Padding(lattice, replace(tuples, values=(second,)), 3, catalog=0)
    for node in lattice.nodes():
        found = both.need(both.count(node))
        assert found.holds == judged.need(judged.count(node)).holds
        assert found.error == told.need(told.count(node)).error


@pytest.mark.parametrize("case", ["less than k", "subjects"])
def test_what_cannot_be_padded_is_refused(case):
    lattice, tuples = random_problem(seed=1, width=2, rows=10)
    if case == "subjects":
        tuples = replace(tuples, subjects=np.arange(len(tuples.weights)))
    with pytest.raises(ValueError, match=case):
        Padding(lattice, tuples, 3, size=2 if case == "less than k" else 3)
