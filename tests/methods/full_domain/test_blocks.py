"""Bounds by blocks of attributes, and exchanges between them, beside looking everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_problems import random_problem, ruled_problems
from tiers import examples

from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import Exploration, Interrupted, Problem, exhaustive, explore
from dbdeid.lattice.objectives import LOSS, OBJECTIVES, under
from dbdeid.lattice.rule import Rule
from dbdeid.methods.full_domain.search import blocks
from dbdeid.methods.full_domain.search.blocks import Blocks, of_block
from dbdeid.methods.full_domain.search.exchange import Exchange
from dbdeid.methods.full_domain.search.optimal import optimal, start
from dbdeid.methods.full_domain.search.region import Packing


@pytest.mark.full
@given(ruled_problems(), st.floats(0, 1), st.data())
@settings(max_examples=examples(150), deadline=None)
def test_what_blocks_lose_is_never_more_than_the_optimum(problem, share, data):
    lattice, tuples, rule = problem
    checker = NumpyChecker(lattice, tuples, rule)
    limit = int(share**2 * tuples.people)
    asked = Problem(lattice, tuples, checker, limit, under(rule, LOSS))
    best = explore(exhaustive, asked)
    assume(best.node is not None)
    side = data.draw(st.lists(st.integers(0, 1), min_size=4, max_size=4))
    parts = [
        frozenset(i for i in range(len(lattice.attributes)) if side[i] == part) for part in (0, 1)
    ]
    searches = [of_block(asked, part) for part in parts if part]
    everywhere = [explore(exhaustive, search) for search in searches]
    assert sum(found.score for found in everywhere) <= best.score + 1e-9
    for search, expected in zip(searches, everywhere, strict=True):
        found = explore(optimal, search)
        assert found.proven_optimal
        assert found.score == pytest.approx(expected.score, abs=1e-12)


def large(seed: int, limit: int = 20) -> Problem:
    lattice, tuples = random_problem(seed=seed, width=5, rows=500)
    return Problem(lattice, tuples, NumpyChecker(lattice, tuples, Rule(4)), limit, LOSS)


@pytest.mark.parametrize("seed", [3, 4])
def test_growing_blocks_raise_the_bound_and_never_too_far(seed, monkeypatch):
    monkeypatch.setattr(blocks, "SIZES", (6, 60, 400, 10**9))
    problem = large(seed)
    optimum = explore(optimal, problem).score
    exploration = Exploration(problem)
    bounds, growing = [exploration.bound], Blocks(exploration, optimal)
    while growing.step():
        bounds.append(exploration.bound)
    assert bounds == sorted(bounds)
    # more is forced by attributes together than by each alone
    assert 0.2 * optimum < bounds[-1] <= optimum
    assert len(set(bounds)) > 2
    assert not exploration.checks
    assert exploration.found().lower_bound == bounds[-1]


def test_only_the_loss_is_bounded_by_blocks():
    problem = large(3)
    other = Problem(problem.lattice, problem.data, problem.checker, 20, OBJECTIVES["precision"])
    assert not Blocks(Exploration(other), optimal).step()
    # nor where a search of a sample is to end after some checks
    assert not Blocks(Exploration(problem, most_checks=9), optimal).step()


def test_a_lattice_that_fits_no_64_bits_has_a_bound(monkeypatch):
    monkeypatch.setattr(Packing, "fits", lambda lattice: lattice.size < 5_000)
    monkeypatch.setattr(blocks, "SIZES", (60, 400))
    problem = large(4)
    assert problem.lattice.size > 5_000
    found = explore(optimal, problem)
    assert not found.proven_optimal
    assert 0 < found.lower_bound <= found.score
    assert found.gap < 1
    assert explore(optimal, problem) == found


def test_an_interrupt_within_a_block_brings_the_best_of_all_attributes(monkeypatch):
    monkeypatch.setattr(Packing, "fits", lambda lattice: lattice.size < 5_000)
    problem = large(4)

    def interrupted(search, part, **options):
        raise Interrupted(explore(search, part, most_checks=3))

    monkeypatch.setattr(blocks, "SIZES", (60, 400))
    monkeypatch.setattr(blocks, "explore", interrupted)
    with pytest.raises(Interrupted) as caught:
        explore(optimal, problem)
    found = caught.value.found
    assert found.lattice_size == problem.lattice.size
    assert found.check == problem.checker.check(found.node)
    assert found.check.suppressed <= problem.limit


@pytest.mark.parametrize("seed", [3, 4])
def test_an_exchange_ends_where_none_is_better(seed):
    problem = large(seed)
    exploration = Exploration(problem)
    start(exploration)
    before = exploration.best_score
    Exchange(exploration).run(exploration.check)
    best = exploration.best
    assert best is not None
    assert best.score <= before
    nodes = np.array(list(problem.lattice.nodes()))
    moved = nodes - np.array(best.node)
    near = (
        (np.abs(moved).max(axis=1) <= 2)
        & (np.count_nonzero(moved, axis=1) == 2)
        & (moved.min(axis=1) < 0)
    )
    for node in map(tuple, nodes[near].tolist()):
        other = Exploration(problem).check(node)
        assert not other.accepted or other.score >= best.score
