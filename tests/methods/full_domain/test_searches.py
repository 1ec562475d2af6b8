"""What is the same of all searches that a spec may name."""

from __future__ import annotations

from functools import cache, partial
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import problems, random_problem, ruled_problems
from realdata import load
from test_optimal import ARX_METRICS, ENTRIES, checker_of, suppressed_class_is_large
from tiers import examples

from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import Found, Problem, exhaustive, explore
from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.objectives import COUNTING_CLASSES, LOSS, OBJECTIVES, PRECISION, under
from dbdeid.lattice.rule import Rule
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.full_domain.search.best_first import best_first
from dbdeid.methods.full_domain.searches import SEARCHES

EXACT = {
    **{name: SEARCHES[name] for name in ("best_first", "flash", "lbs")},
    "best_first without prediction": partial(best_first, predict=False),
}
HEURISTIC = ("ola", "datafly", "igreedy")  # ola where quality is not monotone
OF_SECONDS = {
    (entry["dataset"], tuple(entry["qis"]), entry["metric"], entry["suppression"]): entry
    for entry in ENTRIES
    if entry["dataset"] in ("adult.csv", "creditcard_int.csv")
    and entry["metric"] in ("loss", "dm", "height")
    and entry["k"] == 5
    and entry["suppression"] in (0, 0.05)
}


class Remembering:
    """A checker that looks at a node once, whichever search asks."""

    def __init__(self, checker):
        self.check = cache(checker.check)


def same_node(problem, *searches):
    expected = explore(exhaustive, problem)
    for search in searches:
        found = explore(search, problem)
        assert (found.node, found.check) == (expected.node, expected.check)
        assert found.score == pytest.approx(expected.score, rel=1e-12)
        assert found.proven_optimal
        assert found.lower_bound == found.score
        assert found.checked <= expected.checked


def no_better(problem, *names):
    expected = explore(exhaustive, problem)
    for name in names:
        found = explore(SEARCHES[name], problem)
        assert found.lower_bound <= expected.score * (1 + 1e-12)
        if found.node is not None:
            assert found.score >= expected.score * (1 - 1e-12)
            assert found.check.suppressed_subjects <= problem.limit
            assert problem.accept(found.check)
        if found.proven_optimal:
            assert (found.node, found.check) == (expected.node, expected.check)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", OBJECTIVES)
@given(problems(), st.integers(1, 12), st.floats(0, 1), st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_k_anonymity(name, made, k, share, picky):
    lattice, tuples = made
    asked = {"limit": int(share**2 * tuples.records), "objective": OBJECTIVES[name]}
    if picky:
        asked["accept"] = suppressed_class_is_large
    checker = Remembering(checker_of(name, lattice, tuples, Rule(k)))
    problem = Problem(lattice, tuples, checker, **asked)
    same_node(problem, *EXACT.values())
    no_better(problem, *HEURISTIC)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", OBJECTIVES)
@given(ruled_problems(), st.floats(0, 1), st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_every_rule(name, made, share, picky):
    lattice, tuples, rule = made
    if rule.linked and OBJECTIVES[name] in COUNTING_CLASSES:
        return
    asked = {"limit": int(share * tuples.people), "objective": under(rule, OBJECTIVES[name])}
    if picky:
        asked["accept"] = suppressed_class_is_large
    checker = Remembering(checker_of(name, lattice, tuples, rule))
    problem = Problem(lattice, tuples, checker, **asked)
    same_node(problem, *EXACT.values())
    no_better(problem, *HEURISTIC)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", OBJECTIVES)
@given(ruled_problems())
@settings(max_examples=examples(25), deadline=None)
def test_what_holds_for_parts_is_inherited(name, made):
    lattice, tuples, rule = made
    if tuples.subjects is not None or any(p.least for p in rule.populations):
        return
    checker = Remembering(checker_of(name, lattice, tuples, rule))
    asked = {"limit": 0, "objective": under(rule, OBJECTIVES[name])}
    problem = Problem(lattice, tuples, checker, convex=True, **asked)
    same_node(problem, *EXACT.values())
    no_better(problem, *HEURISTIC)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("objective", [LOSS, PRECISION], ids=lambda o: o.name)
@pytest.mark.parametrize("seed", range(3))
def test_ola_is_optimal_where_quality_is_monotone(seed, objective):
    lattice, tuples = random_problem(seed, width=4, rows=300)
    problem = Problem(
        lattice, tuples, NumpyChecker(lattice, tuples, Rule(4)), limit=0, objective=objective
    )
    same_node(problem, SEARCHES["ola"])


@pytest.mark.full
def test_ola_tells_what_is_proven_where_it_is_not():
    lattice, tuples = random_problem(1, width=4, rows=300)
    problem = Problem(
        lattice, tuples, NumpyChecker(lattice, tuples, Rule(4)), limit=20, objective=LOSS
    )
    found = explore(SEARCHES["ola"], problem)
    optimum = explore(exhaustive, problem).score
    assert not found.proven_optimal
    assert problem.known(lattice.bottom) < found.lower_bound <= optimum <= found.score


@cache
def reference(shared, key):
    """A problem of the oracle; all searches share its checks."""
    entry = OF_SECONDS[key]
    lattice, tuples = load(shared, entry["dataset"], tuple(entry["qis"]))
    checker = Remembering(NumpyChecker(lattice, tuples, Rule(entry["k"])))
    objective = OBJECTIVES[ARX_METRICS.get(entry["metric"], "loss")]
    limit = int(entry["suppression"] * tuples.records)
    problem = Problem(lattice, tuples, checker, limit=limit, objective=objective)
    return problem, explore(SEARCHES["optimal"], problem)


@pytest.mark.sampled(11)
@pytest.mark.parametrize(
    "key",
    [  # of nine columns of Adult, seconds
        pytest.param(key, marks=pytest.mark.full if "adult9" in OF_SECONDS[key]["id"] else [])
        for key in OF_SECONDS
    ],
    ids=lambda key: OF_SECONDS[key]["id"],
)
@pytest.mark.parametrize("name", ["best_first", "flash", "lbs"])
def test_the_optimum_is_that_of_arx(name, key, shared):
    problem, optimum = reference(shared, key)
    found = explore(SEARCHES[name], problem)
    assert (found.node, found.check, found.proven_optimal) == (optimum.node, optimum.check, True)
    if problem.objective.name != "height":  # ARX takes any of the ties
        ties = (OF_SECONDS[key].get("brute_force") or {}).get("ties", [])
        assert list(found.node) in [OF_SECONDS[key]["optimum"], *ties]


@pytest.mark.full
@pytest.mark.parametrize("key", OF_SECONDS, ids=lambda key: OF_SECONDS[key]["id"])
@pytest.mark.parametrize("name", ["datafly", "igreedy"])
def test_no_guess_is_better(name, key, shared):
    problem, optimum = reference(shared, key)
    found = explore(SEARCHES[name], problem)
    assert found.lower_bound <= optimum.score <= found.score
    assert not found.proven_optimal


@pytest.mark.full
@pytest.mark.parametrize("key", [key for key in OF_SECONDS if key[3] == 0])
def test_ola_finds_the_optimum_of_arx_where_quality_is_monotone(key, shared):
    problem, optimum = reference(shared, key)
    found = explore(SEARCHES["ola"], problem)
    assert (found.node, found.check, found.proven_optimal) == (optimum.node, optimum.check, True)


@pytest.mark.full
def test_prediction_saves_checks(shared):
    key = next(key for key, entry in OF_SECONDS.items() if entry["id"] == "adult8_k5_s0.05")
    problem, optimum = reference(shared, key)
    found = explore(best_first, problem)
    without = explore(partial(best_first, predict=False), problem)
    assert found.node == without.node == optimum.node
    assert found.statistics["hopeless_predicted"] > 0
    assert found.checked < without.checked / 2


@pytest.mark.parametrize("name", SEARCHES)
def test_nothing_satisfies_a_k_larger_than_the_data(name):
    lattice, tuples = random_problem(seed=2, width=3, rows=30)
    checker = NumpyChecker(lattice, tuples, Rule(31))
    found = explore(SEARCHES[name], Problem(lattice, tuples, checker, limit=29, objective=LOSS))
    steps = {"datafly": sum(lattice.top) + 1}
    assert found.node is None
    assert found.proven_optimal
    assert found.lower_bound == inf
    if name != "igreedy":
        assert found == Found(None, inf, None, lattice.size, steps.get(name, 1), True, inf)


@pytest.mark.full
@pytest.mark.parametrize("name", SEARCHES)
def test_progress_tells_every_check(name):
    lattice, tuples = random_problem(seed=2, width=4, rows=300)
    told = []
    checker = NumpyChecker(lattice, tuples, Rule(3))
    problem = Problem(lattice, tuples, checker, limit=10, objective=LOSS)
    found = explore(SEARCHES[name], problem, progress=told.append)
    assert [p.checked for p in told][: found.checked] == [*range(1, found.checked + 1)]
    assert all(a.best >= b.best for a, b in pairwise(told))
    assert all(a.lower_bound <= b.lower_bound + 1e-12 for a, b in pairwise(told))
    optimum = explore(exhaustive, problem)
    assert all(p.lower_bound <= optimum.score for p in told)


def large(width, levels):
    """A lattice of levels ** width nodes, and few tuples."""
    size = 1 << (levels - 1)
    groups = tuple(np.arange(size, dtype=np.uint32) >> level for level in range(levels))
    loss = tuple(np.full(size, ((1 << level) - 1) / (size - 1)) for level in range(levels))
    lattice = Lattice(tuple(Attribute(f"q{i}", groups, loss) for i in range(width)))
    codes = np.random.default_rng(5).integers(0, size, (width, 200)).astype(np.uint16)
    return lattice, Tuples(tuple(codes), np.ones(200, np.int64))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SEARCHES)
def test_a_time_limit_ends_a_search_of_a_lattice_beyond_arrays(name):
    lattice, tuples = large(width=16, levels=6)
    assert lattice.size > 10**12
    problem = Problem(
        lattice, tuples, NumpyChecker(lattice, tuples, Rule(5)), limit=10, objective=LOSS
    )
    found = explore(SEARCHES[name], problem, time_limit=0.3)
    assert not found.proven_optimal
    assert problem.known(lattice.bottom) <= found.lower_bound <= found.score
    assert 0 < found.checked < 10_000
