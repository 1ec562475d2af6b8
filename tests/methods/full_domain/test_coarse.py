"""Levels from samples: a first solution in few checks, whose time is not counted."""

from __future__ import annotations

from functools import partial
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import problems, random_problem, ruled_problems
from test_optimal import checker_of
from tiers import examples

from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import Exploration, Interrupted, Problem, exhaustive, explore
from dbdeid.lattice.objectives import LOSS, OBJECTIVES, under
from dbdeid.lattice.rule import Rule
from dbdeid.lattice.sampling import sampled
from dbdeid.methods.full_domain.search import coarse
from dbdeid.methods.full_domain.search.datafly import datafly
from dbdeid.methods.full_domain.search.optimal import optimal
from dbdeid.methods.full_domain.searches import GREEDY, SEARCHES

EXACT = sorted(set(SEARCHES) - GREEDY)
NO_TIME = 1e-9


def problem_of(lattice, tuples, rule, share, name="loss", checker=NumpyChecker):
    return Problem(
        lattice,
        tuples,
        checker_of(name, lattice, tuples, rule)
        if checker is NumpyChecker
        else checker(lattice, tuples, rule),
        limit=int(share * tuples.people),
        objective=under(rule, OBJECTIVES[name]),
        accept=lambda check: check.classes > 0,
    )


def samples_of(lattice, tuples, rule, share, *shares):
    parts = (sampled(tuples, part) for part in shares)
    return [problem_of(lattice, part, rule, share) for part in parts if part.people]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", EXACT)
@given(problems(), st.integers(1, 8), st.floats(0, 0.5), st.lists(st.floats(0.1, 0.9), max_size=2))
@settings(max_examples=examples(40), deadline=None)
def test_without_time_it_is_the_top_only_where_nothing_else_is_feasible(name, made, k, share, of):
    lattice, tuples = made
    problem = problem_of(lattice, tuples, Rule(k), share)
    samples = samples_of(lattice, tuples, Rule(k), share, *sorted(of))
    start = partial(coarse.start, samples=samples)
    found = explore(SEARCHES[name], problem, time_limit=NO_TIME, start=start)
    everything = explore(exhaustive, problem)
    feasible = [c.node for c in everything.explored if c.accepted]
    assert (found.node is None) == (not feasible)
    assert found.lower_bound <= everything.score
    if feasible:
        assert found.node in feasible
        better = any(c.accepted and c.score < found.score for c in everything.explored)
        alike = found.check.all_classes == 1  # the top of a lattice may tell records apart
        assert not (found.node == lattice.top and alike and better)
    if found.proven_optimal:
        assert found.node == everything.node
    if feasible and found.check.all_classes == 1:
        informative = [c for c in everything.explored if c.accepted and c.check.all_classes > 1]
        assert not any(c.score < found.score for c in informative)


@given(problems(), st.integers(1, 8), st.floats(0, 0.5), st.lists(st.floats(0.1, 0.9), max_size=2))
@settings(max_examples=examples(60), deadline=None)
def test_it_is_no_worse_than_datafly(made, k, share, of):
    lattice, tuples = made
    problem = problem_of(lattice, tuples, Rule(k), share)
    samples = samples_of(lattice, tuples, Rule(k), share, *sorted(of))
    found = explore(partial(coarse.start, samples=samples), problem)
    guess = explore(datafly, problem)
    assert found.score <= guess.score


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shares", [(0.2,), (0.05, 0.3)], ids=str)
def test_samples_give_levels_no_worse_than_datafly_in_few_checks(seed, shares):
    lattice, tuples = random_problem(seed, width=4, rows=4000)
    problem = problem_of(lattice, tuples, Rule(5), 0.05)
    samples = samples_of(lattice, tuples, Rule(5), 0.05, *shares)
    exploration = Exploration(problem)
    coarse.start(exploration, samples)
    guess = explore(datafly, problem)
    assert exploration.best.score <= guess.score
    assert len(exploration.checks) <= 7
    assert exploration.seen(lattice.top) is None


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", OBJECTIVES)
@given(ruled_problems(), st.floats(0, 1), st.lists(st.floats(0.1, 0.9), max_size=2))
@settings(max_examples=examples(25), deadline=None)
def test_levels_of_a_sample_change_nothing_of_what_is_proven(name, made, share, of):
    lattice, tuples, rule = made
    if rule.linked and name in ("discernibility", "average_class_size"):
        return
    problem = problem_of(lattice, tuples, rule, share, name)
    parts = (sampled(tuples, part) for part in sorted(of))
    samples = [problem_of(lattice, part, rule, share, name) for part in parts if part.people]
    found = explore(optimal, problem, start=partial(coarse.start, samples=samples))
    expected = explore(exhaustive, problem)
    assert (found.node, found.check) == (expected.node, expected.check)
    assert found.proven_optimal


def test_the_start_has_no_limit_and_the_search_after_it_has():
    lattice, tuples = random_problem(seed=1, width=4, rows=300)
    problem = problem_of(lattice, tuples, Rule(4), 0.05)
    alone = Exploration(problem)
    coarse.start(alone)
    found = explore(optimal, problem, time_limit=NO_TIME, start=coarse.start)
    assert len(alone.checks) > 1
    assert found.explored == tuple(alone.checks)
    assert found.out_of_time


def test_so_many_checks_are_made_at_most():
    lattice, tuples = random_problem(seed=1, width=4, rows=300)
    problem = problem_of(lattice, tuples, Rule(4), 0.05)
    found = explore(optimal, problem, most_checks=7)
    assert (found.checked, found.out_of_time) == (7, True)


class Impatient(NumpyChecker):
    """Is interrupted at its third check."""

    checks = 0

    def check(self, node):
        self.checks += 1
        if self.checks == 3:
            raise KeyboardInterrupt
        return super().check(node)


def test_what_is_best_of_a_sample_is_not_offered_for_all_data():
    lattice, tuples = random_problem(seed=1, width=4, rows=300)
    problem = problem_of(lattice, tuples, Rule(4), 0.05)
    part = sampled(tuples, 0.5)
    sample = problem_of(lattice, part, Rule(4), 0.05, checker=Impatient)
    with pytest.raises(KeyboardInterrupt) as stopped:
        explore(optimal, problem, start=partial(coarse.start, samples=[sample]))
    assert not isinstance(stopped.value, Interrupted)


def test_nothing_that_satisfies_is_proven_by_the_start_as_ever():
    lattice, tuples = random_problem(seed=2, width=3, rows=30)
    problem = Problem(lattice, tuples, NumpyChecker(lattice, tuples, Rule(31)), 29, LOSS)
    found = explore(optimal, problem, time_limit=60, start=coarse.start)
    assert (found.node, found.lower_bound, found.proven_optimal) == (None, inf, True)
