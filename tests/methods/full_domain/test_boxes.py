"""Boxes hold every open node, once, under bounds that no node in them is below."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import problems, random_problem, ruled_problems
from tiers import examples

from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import Exploration, Problem
from dbdeid.lattice.objectives import COUNTING_CLASSES, OBJECTIVES, under
from dbdeid.lattice.rule import Rule
from dbdeid.methods.full_domain.search.boxes import Boxes
from dbdeid.methods.full_domain.search.region import Packing


def problem_of(name, lattice, tuples, rule, share):
    tally = OBJECTIVES[name].tally
    checker = NumpyChecker(lattice, tuples, rule, tally and tally(lattice, tuples))
    limit = int(share * tuples.people)
    return Problem(lattice, tuples, checker, limit, under(rule, OBJECTIVES[name]))


def explored(problem, seed, count):
    """Some nodes looked at in any order, the top among them."""
    exploration = Exploration(problem)
    exploration.check(problem.lattice.top)
    for index in np.random.default_rng(seed).integers(problem.lattice.size, size=count):
        exploration.check(problem.lattice.node(int(index)))
    return exploration


def held(boxes, packing):
    return [packing.node(p) for nodes in boxes.nodes() for p in nodes]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", OBJECTIVES)
@given(ruled_problems(), st.floats(0, 1), st.integers(0, 99), st.integers(1, 60))
@settings(max_examples=examples(40), deadline=None)
def test_no_node_that_may_be_best_is_lost(name, drawn, share, seed, most):
    lattice, tuples, rule = drawn
    if rule.linked and OBJECTIVES[name] in COUNTING_CLASSES:
        return
    problem = problem_of(name, lattice, tuples, rule, share)
    exploration = explored(problem, seed, 12)
    packing = Packing(lattice)
    boxes = Boxes(problem, packing)
    first = [c for c in exploration.checks[:6] if c.accepted]
    boxes.learn(exploration.checks[:6], min(first, key=lambda c: c.score, default=None))
    boxes.split(most)
    boxes.learn(exploration.checks, exploration.best)
    boxes.refine(most)
    left = held(boxes, packing)
    assert len(left) == len(set(left)) <= boxes.volume
    best = exploration.best
    for node in set(lattice.nodes()) - set(left):
        exploration.check(node)
    assert exploration.best == best
    for node in left:
        assert exploration.check(node).score >= boxes.bound - 1e-9 * abs(boxes.bound)


@given(problems(), st.integers(0, 99))
@settings(max_examples=examples(60), deadline=None)
def test_a_sample_is_of_what_is_held(drawn, seed):
    lattice, tuples = drawn
    problem = problem_of("loss", lattice, tuples, Rule(3), 0.1)
    exploration = explored(problem, seed, 5)
    packing = Packing(lattice)
    boxes = Boxes(problem, packing)
    boxes.learn(exploration.checks, exploration.best)
    boxes.split(10)
    if not len(boxes):
        return
    sample, share = boxes.sample(500, np.random.default_rng(seed))
    assert {packing.node(p) for p in sample} <= set(held(boxes, packing))
    assert share == len(sample) / 500


def test_splitting_and_refining_stop_at_single_nodes():
    lattice, tuples = random_problem(seed=2, width=3, rows=60)
    problem = problem_of("loss", lattice, tuples, Rule(2), 0.5)
    exploration, packing = Exploration(problem), Packing(lattice)
    exploration.check(lattice.top)
    boxes = Boxes(problem, packing)
    boxes.learn(exploration.checks, exploration.best)
    boxes.split(10 * lattice.size)
    assert len(boxes) == boxes.volume == lattice.size - 1  # the top was checked
    loose = boxes.bound
    boxes.refine(100 * lattice.size)
    assert boxes.bound == loose == problem.known(lattice.bottom)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", OBJECTIVES)
@given(problems())
@settings(max_examples=examples(40), deadline=None)
def test_what_is_known_does_not_fall_upwards(name, drawn):
    lattice, tuples = drawn
    problem = problem_of(name, lattice, tuples, Rule(2), 0)
    for node in lattice.nodes():
        known = problem.known(node)
        for above in lattice.successors(node):
            assert problem.known(above) >= known * (1 - 1e-12)
