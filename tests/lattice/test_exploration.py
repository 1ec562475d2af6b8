from __future__ import annotations

from itertools import count
from math import inf, nextafter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interrupting import interrupted
from random_problems import problems, random_problem
from tiers import examples

from dbdeid.lattice import exploration as exploring
from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import Exploration, Interrupted, Problem, exhaustive, explore
from dbdeid.lattice.objectives import LOSS
from dbdeid.lattice.rule import Rule
from dbdeid.methods.full_domain.search.optimal import optimal


def problem_of(lattice, tuples, k=3, share=0.1, checker=NumpyChecker, **options):
    rule = Rule(k)
    limit = int(share * tuples.records)
    return Problem(lattice, tuples, checker(lattice, tuples, rule), limit, LOSS, **options)


@pytest.fixture
def ticking(monkeypatch):
    """A clock that is one second later whenever it is looked at."""
    seconds = count()
    monkeypatch.setattr(exploring, "monotonic", lambda: next(seconds))


def test_a_node_is_looked_at_once():
    problem = problem_of(*random_problem(seed=2, width=3, rows=50))
    exploration = Exploration(problem)
    first = exploration.check(problem.lattice.top)
    assert exploration.check(problem.lattice.top) is first
    assert exploration.checks == [first]
    assert exploration.seen(problem.lattice.top) is first
    assert exploration.seen(problem.lattice.bottom) is None


def test_nothing_is_proven_before_a_search_says_so():
    problem = problem_of(*random_problem(seed=2, width=3, rows=50))
    exploration = Exploration(problem)
    checked = exploration.check(problem.lattice.top)
    found = exploration.found()
    assert (found.node, found.score) == (problem.lattice.top, checked.score)
    assert (found.proven_optimal, found.lower_bound) == (
        False,
        problem.known(problem.lattice.bottom),
    )
    assert found.gap == (found.score - found.lower_bound) / found.score
    exploration.bound = 0.25 * found.score
    assert exploration.found().gap == pytest.approx(0.75)
    exploration.finish()
    found = exploration.found()
    assert (found.proven_optimal, found.lower_bound, found.gap) == (True, found.score, 0)


def test_a_bound_at_the_score_still_lets_a_tie_win():
    problem = problem_of(*random_problem(seed=2, width=3, rows=50))
    exploration = Exploration(problem)
    exploration.bound = exploration.check(problem.lattice.top).score
    assert not exploration.found().proven_optimal
    assert exploration.found().gap == 0
    exploration.bound = nextafter(exploration.bound, inf)
    assert not exploration.found().proven_optimal
    exploration.bound *= 1 + 1e-9
    assert exploration.found().proven_optimal


@pytest.mark.full
@given(problems(), st.integers(0, 30))
@settings(max_examples=examples(100), deadline=None)
def test_whenever_time_is_up_the_bound_holds(drawn, seconds):
    lattice, tuples = drawn
    problem = problem_of(lattice, tuples)
    best = explore(exhaustive, problem)
    with pytest.MonkeyPatch.context() as patch:
        ticks = count()
        patch.setattr(exploring, "monotonic", lambda: next(ticks))
        found = explore(optimal, problem, time_limit=seconds)
    assert 1 <= found.checked <= max(seconds, 1)
    assert found.lower_bound <= best.score <= found.score
    if found.proven_optimal:
        assert (found.node, found.score) == (best.node, best.score)
    if found.node is not None:
        assert found.check.suppressed <= problem.limit


@pytest.mark.usefixtures("ticking")
def test_one_check_is_always_made():
    problem = problem_of(*random_problem(seed=2, width=3, rows=50))
    found = explore(exhaustive, problem, time_limit=1e-9)
    assert (found.checked, found.proven_optimal) == (1, False)


class Impatient(NumpyChecker):
    """Is interrupted at its sixth check."""

    checks = 0

    def check(self, node):
        self.checks += 1
        if self.checks == 6:
            raise KeyboardInterrupt
        return super().check(node)


@pytest.mark.parametrize("search", [optimal, exhaustive])
def test_an_interrupt_brings_the_best_so_far(search):
    lattice, tuples = random_problem(seed=2, width=4, rows=300)
    accept = {optimal: 0.1, exhaustive: 1.0}[search]
    problem = problem_of(lattice, tuples, share=accept, checker=Impatient)
    with pytest.raises(Interrupted) as stopped:
        explore(search, problem)
    found = stopped.value.found
    assert isinstance(stopped.value, KeyboardInterrupt)
    assert found.checked == len(found.explored) == 5
    assert found.score == min(c.score for c in found.explored if c.accepted)
    assert not found.proven_optimal
    assert found.lower_bound <= explore(exhaustive, problem).score


def test_an_interrupt_half_way_through_a_check_leaves_none_that_is_better_than_the_best():
    lattice, tuples = random_problem(seed=2, width=3, rows=50)
    problem = problem_of(lattice, tuples, k=1)  # so that the bottom is best
    line, interrupts = 1, 0
    while True:
        exploration = Exploration(problem)
        exploration.check(lattice.top)
        stopped = interrupted(lambda e=exploration: e.check(lattice.bottom), exploring, line)
        assert exploration.best_score <= min(c.score for c in exploration.checks)
        if not stopped:
            break
        line, interrupts = line + 1, interrupts + 1
    assert interrupts > 10


def test_an_interrupt_with_nothing_found_is_only_that():
    lattice, tuples = random_problem(seed=2, width=4, rows=300)
    problem = problem_of(lattice, tuples, checker=Impatient, accept=lambda _: False)
    with pytest.raises(KeyboardInterrupt) as stopped:
        explore(optimal, problem)
    assert not isinstance(stopped.value, Interrupted)


def test_without_a_feasible_node_the_bound_is_infinite():
    lattice, tuples = random_problem(seed=2, width=3, rows=30)
    found = explore(exhaustive, problem_of(lattice, tuples, k=31))
    assert (found.node, found.score, found.lower_bound, found.gap) == (None, inf, inf, 0)
    assert found.proven_optimal
