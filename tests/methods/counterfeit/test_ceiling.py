from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from padded_problems import Padded, padded_problems
from random_problems import Mixed, random_problem, random_values
from realdata import load_valued
from tiers import examples

from dbdeid.lattice.exploration import Progress
from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.methods.counterfeit.search import ceiling as module
from dbdeid.methods.counterfeit.search.ceiling import Ceiling
from dbdeid.methods.counterfeit.search.padding import Need, Padding

OBJECTIVES = ("reconstruction_error", "counterfeits", "loss")
QIS = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass")


def rank(objective: str, need: Need) -> tuple[object, ...]:
    """The order of nodes under an objective, and of those that tie."""
    score = {
        "reconstruction_error": need.error,
        "counterfeits": need.counterfeits,
        "loss": need.loss,
    }[objective]
    return round(score, 12), round(need.loss, 12), sum(need.node), need.node


def needs(ceiling: Ceiling) -> list[Need]:
    """What every node needs."""
    padding = ceiling.padding
    return [padding.need(padding.count(node)) for node in ceiling.lattice.nodes()]


@st.composite
def ceilings(draw: st.DrawFn, problem: Padded, ceiling: Ceiling) -> float:
    """Anywhere, and exactly at the degree of a node."""
    of_nodes = st.sampled_from(sorted(set(ceiling.degrees.tolist())))
    return draw(st.one_of(of_nodes, st.floats(0, 1)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("objective", OBJECTIVES)
@given(problem=padded_problems(), data=st.data())
@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_search_finds_what_looking_everywhere_finds(objective, problem, data):
    ceiling = Ceiling(problem.padding)
    everywhere = needs(ceiling)
    h = data.draw(st.one_of(st.none(), ceilings(problem, ceiling)))
    most = max(need.counterfeits for need in everywhere)
    limit = data.draw(st.integers(0, most))
    nodes = st.sampled_from([need.node for need in everywhere])
    excluded = data.draw(st.frozensets(nodes, max_size=4))
    found = ceiling.search(objective, h=h, limit=limit, excluded=excluded)

    holding = [n for n in everywhere if n.holds and n.node not in excluded]
    affordable = [n for n in holding if n.counterfeits <= limit]
    smallest = min((n.degree for n in affordable), default=None)
    top = smallest if h is None else h
    under = inf if top is None else top + 1e-12
    acceptable = [n for n in affordable if n.degree <= under]
    assert found.best == min(acceptable, key=lambda n: rank(objective, n), default=None)
    assert found.h == (top if top is None else pytest.approx(top, abs=1e-12))
    assert found.lattice_size == len(everywhere)
    assert found.within == sum(n.degree <= under for n in everywhere)
    assert found.checked <= len(everywhere)
    assert found.proven_optimal
    if found.best is not None:
        assert found.lower_bound == pytest.approx(rank(objective, found.best)[0], abs=1e-11)
        assert (found.smallest_h, found.fewest) == (None, None)
        return
    assert found.lower_bound == inf
    assert found.smallest_h == (smallest if smallest is None else pytest.approx(smallest))
    few = [n.counterfeits for n in holding if n.degree <= under]
    assert found.fewest == min(few, default=None)


@pytest.mark.full
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(6))
def test_larger_lattices(objective, seed):
    lattice, tuples = random_problem(seed, width=4, rows=400)
    tuples = replace(tuples, values=(random_values(tuples, 5),))
    conditions = (Mixed(2, 0.7),) if seed % 2 else ()
    padding = Padding(lattice, tuples, 4, conditions=conditions, catalog=0, pooled=seed > 1)
    ceiling = Ceiling(padding)
    everywhere = needs(ceiling)
    for h in (0.2, 0.5, None):
        for limit in (0, 20, 100):
            found = Ceiling(padding).search(objective, h=h, limit=limit)
            fine = [n for n in everywhere if n.holds and n.counterfeits <= limit]
            top = min((n.degree for n in fine), default=inf) if h is None else h
            fine = [n for n in fine if n.degree <= top + 1e-12]
            assert found.best == min(fine, key=lambda n: rank(objective, n), default=None)
            assert found.proven_optimal
            assert found.checked < lattice.size


@given(padded_problems(), st.sampled_from(OBJECTIVES), st.data())
@settings(max_examples=examples(60), deadline=None)
def test_a_search_without_time_claims_no_more_than_it_has_seen(problem, objective, data):
    ceiling = Ceiling(problem.padding)
    h = data.draw(st.one_of(st.none(), ceilings(problem, ceiling)))
    limit = data.draw(st.integers(0, 20))
    found = ceiling.search(objective, h=h, limit=limit, time_limit=0)
    assert found.checked <= 1
    whole = Ceiling(problem.padding).search(objective, h=h, limit=limit)
    if found.proven_optimal:
        expected = replace(whole, checked=found.checked, smallest_h=None, fewest=None)
        assert replace(found, smallest_h=None, fewest=None) == expected
        return
    assert (found.smallest_h, found.fewest) == (None, None)
    if found.best is not None:
        assert found.best.holds
        assert found.best.counterfeits <= limit
        assert h is None or found.best.degree <= h + 1e-12
    if whole.best is not None:
        assert found.lower_bound <= whole.lower_bound + 1e-12


@pytest.mark.sampled(6)
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("h", [0.5, None])
def test_more_time_loses_nothing(objective, h, monkeypatch):
    """A clock that each look moves on by a second."""
    whole = Ceiling(wide()).search(objective, h=h, limit=60)
    had = False
    for seconds in range(0, whole.checked, max(whole.checked // 20, 1)):
        ceiling = Ceiling(wide())
        monkeypatch.setattr(module, "monotonic", lambda made=ceiling: len(made.counted))
        found = ceiling.search(objective, h=h, limit=60, time_limit=seconds)
        assert found.checked == max(seconds, 1)
        assert not found.proven_optimal
        assert found.lower_bound <= whole.lower_bound
        assert had <= (found.best is not None)
        had = found.best is not None
        if found.best is not None:
            assert found.best.holds
            assert found.best.counterfeits <= 60
            assert found.best.degree <= (found.h or 0) + 1e-12
    assert had


def two_classes(values: list[int], at: list[int], condition: Mixed) -> Padding:
    """Records with one of two values of a quasi-identifier, which `*` makes one class; k = 3."""
    groups = np.arange(2, dtype=np.uint32), np.zeros(2, np.uint32)
    lattice = Lattice((Attribute("q", groups, (np.zeros(2), np.ones(2))),))
    row, value = np.array(at), np.array(values)
    key, count = np.unique(row * 2 + value, return_counts=True)
    held = Values(key // 2, key % 2, count, 2)
    tuples = Tuples((np.arange(2, dtype=np.uint16),), np.bincount(row), None, (held,))
    return Padding(lattice, tuples, 3, conditions=(condition,), catalog=0)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_below_what_does_not_hold_may_be_what_does(objective):
    """Padded classes are not asked; as they meet the one that holds it does not hold any more."""
    ceiling = Ceiling(two_classes([0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 1, 1], Mixed(2, 0.5)))
    assert [(n.counterfeits, n.holds) for n in needs(ceiling)] == [(1, True), (0, False)]
    found = ceiling.search(objective, h=1, limit=1)
    assert found.best is not None
    assert found.best.node == (0,)
    assert ceiling.search(objective, h=1, limit=0).fewest == 1


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_what_lacks_a_value_may_do_in_parts_that_are_padded(objective):
    """Four records of one value lack a second: only as two classes of two are they not asked."""
    ceiling = Ceiling(two_classes([0, 0, 0, 0], [0, 0, 1, 1], Mixed(2, 1.0)))
    seen = [(n.counterfeits, n.holds, n.below) for n in needs(ceiling)]
    assert seen == [(2, True, 2), (0, False, 2)]
    found = ceiling.search(objective, h=1, limit=2)
    assert found.best is not None
    assert found.best.node == (0,)
    failed = Ceiling(ceiling.padding).search(objective, h=1, limit=1)
    assert (failed.best, failed.fewest, failed.smallest_h) == (None, 2, None)


def wide() -> Padding:
    lattice, tuples = random_problem(seed=3, width=4, rows=400)
    return Padding(lattice, replace(tuples, values=(random_values(tuples, 5),)), 4, catalog=0)


@pytest.mark.full
def test_later_searches_need_not_count_again():
    ceiling = Ceiling(wide())
    first = ceiling.search("loss", h=0.5, limit=100)
    assert ceiling.search("loss", h=0.5, limit=100) == first
    assert first.best is not None
    second = ceiling.search("loss", h=0.5, limit=100, excluded=frozenset({first.best.node}))
    assert second.best is not None
    assert rank("loss", second.best) > rank("loss", first.best)
    assert second == replace(
        Ceiling(wide()).search("loss", h=0.5, limit=100, excluded=frozenset({first.best.node})),
        checked=second.checked,
    )


@pytest.mark.parametrize("after", [1, 2, 7, 20])
@pytest.mark.parametrize("h", [0.5, None])
def test_an_interrupt_passes_and_spoils_no_later_search(h, after):
    expected = Ceiling(wide()).search("reconstruction_error", h=h, limit=60)
    ceiling, told = Ceiling(wide()), []

    def interrupt(progress: Progress) -> None:
        told.append(progress)
        if len(told) == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ceiling.search("reconstruction_error", h=h, limit=60, progress=interrupt)
    assert [p.checked for p in told] == [*range(1, after + 1)]
    found = ceiling.search("reconstruction_error", h=h, limit=60)
    assert replace(found, checked=expected.checked) == expected


def test_progress_tells_how_far_it_is():
    told: list[Progress] = []
    found = Ceiling(wide()).search("loss", h=0.5, limit=60, progress=told.append)
    assert len(told) == found.checked
    assert found.best is not None
    for before, after in pairwise(told):
        assert (after.open, after.best) <= (before.open, before.best)
        assert after.lower_bound >= before.lower_bound
        assert after.lower_bound <= found.best.loss


ADULT = [  # h, k, fewest counterfeits of any node under h, that node, its loss
    (0.30, 3, 360, "4000211", 0.275),
    (0.30, 5, 895, "4000211", 0.275),
    (0.30, 10, 2478, "4000211", 0.275),
    (0.25, 5, 1593, "2001211", 0.207),
    (0.35, 5, 442, "3001311", 0.312),
]


@pytest.mark.full
@pytest.mark.parametrize(("h", "k", "fewest", "node", "loss"), ADULT)
def test_fewest_counterfeits_on_adult(h, k, fewest, node, loss, shared):
    lattice, tuples = load_valued(shared, "adult.csv", QIS, "occupation")
    found = Ceiling(Padding(lattice, tuples, k, catalog=0)).search("counterfeits", h=h, limit=10**6)
    assert found.best is not None
    assert (found.best.counterfeits, "".join(map(str, found.best.node))) == (fewest, node)
    assert found.best.loss == pytest.approx(loss, abs=5e-4)
    assert found.within == {0.25: 271, 0.3: 429, 0.35: 654}[h]
    assert found.checked < found.within


# RCE of the pool over the seven quasi-identifiers, without the sensitive column's share of it
RCE = {(0.3, 3): 0.491, (0.3, 5): 0.494, (0.3, 10): 0.5, (0.25, 5): 0.578, (0.35, 5): 0.592}


@pytest.mark.parametrize(("h", "k"), RCE)
def test_reconstruction_error_on_adult(h, k, shared):
    lattice, tuples = load_valued(shared, "adult.csv", QIS, "occupation")
    node = tuple(map(int, next(row[3] for row in ADULT if row[:2] == (h, k))))
    padding = Padding(lattice, tuples, k)
    assert padding.need(padding.count(node)).error == pytest.approx(RCE[h, k], abs=6e-4)
    # with it: the released value is one leaf, which p alone makes doubtful
    told = Padding(lattice, tuples, k, catalog=0)
    assert told.need(told.count(node)).error < RCE[h, k] * 7 / 8 + 0.01


@pytest.mark.full
@pytest.mark.parametrize("k", [3, 5, 10])
def test_the_least_ceiling_on_adult_at_a_tenth(k, shared):
    """Below it no node of all 2,160 needs few enough, and it is a node's degree."""
    lattice, tuples = load_valued(shared, "adult.csv", QIS, "occupation")
    padding = Padding(lattice, tuples, k, catalog=0)
    ceiling, limit = Ceiling(padding), tuples.records // 10
    found = ceiling.search("reconstruction_error", h=None, limit=limit)
    affordable = np.array([padding.count(n).counterfeits <= limit for n in lattice.nodes()])
    assert found.h == ceiling.degrees[affordable].min()
    assert found.best is not None
    assert found.best.counterfeits <= limit


@pytest.mark.full
def test_a_budget_that_no_node_under_h_keeps_says_what_would_do(shared):
    lattice, tuples = load_valued(shared, "adult.csv", QIS, "occupation")
    ceiling = Ceiling(Padding(lattice, tuples, 10, catalog=0))
    found = ceiling.search("loss", h=0.25, limit=3016)
    assert (found.best, found.proven_optimal) == (None, True)
    assert found.fewest is not None
    assert found.smallest_h is not None
    assert ceiling.search("loss", h=0.25, limit=found.fewest).best is not None
    assert ceiling.search("loss", h=0.25, limit=found.fewest - 1).best is None
    assert ceiling.search("loss", h=found.smallest_h, limit=3016).best is not None
    assert ceiling.search("loss", h=found.smallest_h - 1e-6, limit=3016).best is None
