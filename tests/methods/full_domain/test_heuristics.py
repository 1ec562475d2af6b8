"""The paths of the greedy searches, by hand."""

from __future__ import annotations

import numpy as np

from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import Problem, explore
from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.objectives import LOSS
from dbdeid.lattice.rule import Rule
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.full_domain.baselines.igreedy import igreedy
from dbdeid.methods.full_domain.search.datafly import datafly


def halved(name, levels):
    """2 ** (levels - 1) values, of which each level joins pairs."""
    size = 1 << (levels - 1)
    groups = tuple(np.arange(size, dtype=np.uint32) >> level for level in range(levels))
    loss = tuple(np.full(size, ((1 << level) - 1) / (size - 1)) for level in range(levels))
    return Attribute(name, groups, loss)


def problem(rows, k, limit=0):
    lattice = Lattice((halved("wide", 4), halved("narrow", 3)))
    codes = np.array(rows, np.uint16).T
    tuples = Tuples(tuple(codes), np.ones(len(rows), np.int64))
    checker = NumpyChecker(lattice, tuples, Rule(k))
    return Problem(lattice, tuples, checker, limit=limit, objective=LOSS)


EVERYWHERE = [(a, b) for a in range(8) for b in range(4)]


def explored(search, asked):
    return [checked.node for checked in explore(search, asked).explored]


def test_datafly_generalizes_where_there_are_most_values():
    # 8 and 4 values, then 4 and 4: the first; then 2 and 4, 2 and 2, 1 and 2
    path = [(0, 0), (1, 0), (2, 0), (2, 1), (3, 1), (3, 2)]
    assert explored(datafly, problem(EVERYWHERE, k=32)) == path
    assert explored(datafly, problem(EVERYWHERE, k=4)) == path[:3]
    assert explored(datafly, problem(EVERYWHERE, k=1)) == path[:1]


def test_datafly_counts_the_values_that_occur():
    rows = [(0, b) for b in range(4)]
    assert explored(datafly, problem(rows, k=2)) == [(0, 0), (0, 1)]


def test_datafly_suppresses_up_to_the_limit():
    rows = [(a, 0) for a in (0, 1, 2, 3, 4)]
    assert explored(datafly, problem(rows, k=2)) == [(0, 0), (1, 0), (2, 0), (3, 0)]
    assert explored(datafly, problem(rows, k=2, limit=1)) == [(0, 0), (1, 0)]


def test_igreedy_looks_at_all_generalizations_by_one_level():
    assert explored(igreedy, problem(EVERYWHERE, k=2)) == [(0, 0), (1, 0), (0, 1)]
    assert explored(igreedy, problem(EVERYWHERE, k=4)) == [
        *[(0, 0), (1, 0), (0, 1)],
        *[(2, 0), (1, 1)],
    ]


def test_igreedy_takes_the_best_of_the_last_step():
    # both generalizations will do, and the first loses less: 1/7 of half the cells, not 1/3
    rows = [(0, 0), (0, 1), (1, 0), (1, 1)]
    found = explore(igreedy, problem(rows, k=2))
    assert [c.accepted for c in found.explored] == [False, True, True]
    assert found.node == (1, 0)
