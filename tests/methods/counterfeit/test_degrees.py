from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import problems, random_problem
from realdata import load
from tiers import examples

from dbdeid.errors import DbdeidError
from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.counterfeit.search.degrees import TooManyNodes, degrees

QIS = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass")


def degree(lattice: Lattice, tuples: Tuples, index: int) -> float:
    """The largest D, record by record."""
    node = lattice.node(index)
    of_records = sum(
        share * a.loss[level][codes]
        for codes, a, level, share in zip(
            tuples.codes, lattice.attributes, node, lattice.shares, strict=True
        )
    )
    return float(np.max(of_records, initial=0.0))


@pytest.mark.full
@given(problems())
@settings(max_examples=examples(150), deadline=None)
def test_the_degree_of_every_node_is_that_of_its_worst_record(problem):
    lattice, tuples = problem
    expected = [degree(lattice, tuples, i) for i in range(lattice.size)]
    assert degrees(lattice, tuples) == pytest.approx(expected, abs=1e-12)


@st.composite
def uneven_problems(draw: st.DrawFn) -> tuple[Lattice, Tuples]:
    """Hierarchies that lose much of some values early, and little of others."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    made, columns = [], []
    for name in "abcd"[: draw(st.integers(1, 4))]:
        size, height = int(rng.integers(2, 9)), int(rng.integers(1, 4))
        loss = np.cumsum(rng.dirichlet(np.ones(height + 1), size), axis=1).round(2).T
        identity = np.arange(size, dtype=np.uint32)
        weight = float(rng.choice([1.0, 2.0]))
        made.append(Attribute(name, (identity,) * (height + 1), tuple(loss), weight))
        columns.append(rng.integers(0, size, 60).astype(np.uint16))
    distinct, weights = np.unique(np.array(columns).T, axis=0, return_counts=True)
    return Lattice(tuple(made)), Tuples(tuple(distinct.T), weights)


@given(uneven_problems())
@settings(max_examples=examples(100), deadline=None)
def test_records_that_are_worst_in_turn(problem):
    lattice, tuples = problem
    expected = [degree(lattice, tuples, i) for i in range(lattice.size)]
    assert degrees(lattice, tuples) == pytest.approx(expected, abs=1e-12)


def test_nodes_of_adult_under_some_ceilings(shared):
    found = degrees(*load(shared, "adult.csv", QIS))
    assert len(found) == 2160
    under = [int(np.count_nonzero(found <= h + 1e-12)) for h in (0.2, 0.25, 0.3, 0.35)]
    assert under == [155, 271, 429, 654]


def test_a_large_lattice_is_refused_and_says_what_to_do():
    lattice, tuples = random_problem(seed=1, width=12, rows=10)
    assert lattice.size > 1 << 21
    with pytest.raises(TooManyNodes, match="max_level") as refused:
        degrees(lattice, tuples)
    assert isinstance(refused.value, DbdeidError)
    assert f"{lattice.size:,}" in str(refused.value)
