from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_cells import cells, random_cells
from tiers import examples

from dbdeid.methods.policy.search.frontier import Frontier, Log, Spent, Weighed, dominates, explore
from dbdeid.methods.policy.search.policies import Cells, Gauge

# few different coordinates, so that many are equal
COORDINATE = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 0.75, 1.0])
POINTS = st.lists(st.tuples(COORDINATE, COORDINATE, st.integers(0, 3)), max_size=12)


def frontier_of(points: list[tuple[float, float, int]]) -> Frontier:
    frontier = Frontier()
    for risk, loss, policy in points:
        frontier.add(risk, loss, bytes([policy]))
    return frontier


def hypervolume(points: list[tuple[float, float]]) -> float:
    """The area of the union of the boxes from the points to (1, 1), by inclusion and exclusion."""
    found = 0.0
    for size in range(1, len(points) + 1):
        for some in combinations(points, size):
            width = 1 - max(risk for risk, _ in some)
            height = 1 - max(loss for _, loss in some)
            found += (-1) ** (size + 1) * width * height
    return found


@pytest.mark.full
@given(POINTS)
@settings(deadline=None, max_examples=examples(300))
def test_what_is_kept_is_what_nothing_dominates(points: list[tuple[float, float, int]]) -> None:
    frontier = frontier_of(points)
    kept = {(p.risk, p.loss, p.policy) for p in frontier}
    assert kept == {
        (risk, loss, bytes([policy]))
        for risk, loss, policy in points
        if not any(dominates(other[:2], (risk, loss)) for other in points)
    }
    assert frontier.policies == len(kept)
    assert len(frontier) == len({point[:2] for point in kept})


@pytest.mark.full
@given(POINTS)
@settings(deadline=None, max_examples=examples(300))
def test_it_is_an_antichain_that_covers_all(points: list[tuple[float, float, int]]) -> None:
    frontier = frontier_of(points)
    pairs = list(zip(frontier.risks, frontier.losses, strict=True))
    assert frontier.risks == sorted(set(frontier.risks))
    assert frontier.losses == sorted(set(frontier.losses), reverse=True)
    assert not any(dominates(one, other) for one in pairs for other in pairs)
    for risk, loss, _ in points:
        assert any(one == (risk, loss) or dominates(one, (risk, loss)) for one in pairs)
        assert frontier.dominated(risk, loss) == ((risk, loss) not in pairs)
        assert frontier.least_loss(risk) == min(u for r, u, _ in points if r <= risk)


@pytest.mark.full
@given(POINTS, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=examples(200))
def test_the_order_does_not_matter(points: list[tuple[float, float, int]], random: object) -> None:
    found = frontier_of(points)
    shuffled = list(points)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    again = frontier_of(shuffled)
    assert (again.risks, again.losses, again.area) == (found.risks, found.losses, found.area)
    assert set(again) == set(found)


@pytest.mark.full
@given(POINTS)
@settings(deadline=None, max_examples=examples(300))
def test_add_says_whether_the_policy_is_kept(points: list[tuple[float, float, int]]) -> None:
    frontier = Frontier()
    for risk, loss, policy in points:
        kept = frontier.add(risk, loss, bytes([policy]))
        assert kept == any(p == (risk, loss, bytes([policy])) for p in frontier)


@pytest.mark.full
@given(POINTS)
@settings(deadline=None, max_examples=examples(200))
def test_the_area_is_one_less_the_hypervolume(points: list[tuple[float, float, int]]) -> None:
    pairs = sorted({(risk, loss) for risk, loss, _ in points})[:9]
    frontier = frontier_of([(risk, loss, 0) for risk, loss in pairs])
    assert frontier.area == pytest.approx(1 - hypervolume(pairs), abs=1e-12)


def test_no_policies_have_the_whole_area() -> None:
    assert Frontier().area == 1
    assert Frontier().least_loss(1) == float("inf")
    assert not Frontier().dominated(1, 1)


def spread(log: Log, rng: np.random.Generator) -> None:
    """Policies at random, some rejected at a cost of their own."""
    space = log.gauge.space
    while True:
        bits = rng.random(space.length) < rng.random()
        if rng.random() < 0.3:
            log.charge(2)
        elif rng.random() < 0.5:
            log.evaluate(bits)
        else:
            log.note(bits, *log.gauge(bits))


@given(cells(), st.integers(1, 60), st.integers(0, 99))
@settings(deadline=None, max_examples=examples(60))
def test_a_log_covers_all_that_it_evaluated(found: Cells, budget: int, seed: int) -> None:
    gauge = Gauge(found)
    log = explore(spread, gauge, budget, np.random.default_rng(seed))
    space = gauge.space
    evaluated = [*zip(log.risks, log.losses, log.policies, strict=True)]
    ends = [(*gauge(bits), space.pack(bits)) for bits in (space.top, space.bottom)]
    for risk, loss, policy in evaluated + ends:
        assert gauge(space.unpack(policy)) == (risk, loss)
        assert log.frontier.least_loss(risk) <= loss
    for point in log.frontier:
        assert (point.risk, point.loss, point.policy) in evaluated + ends
    assert log.spent <= budget < log.spent + 2
    assert log.left == budget - log.spent


def test_every_cost_is_counted() -> None:
    gauge = Gauge(random_cells(np.random.default_rng(1), (4, 3), 20))
    log = Log(gauge, 5)
    assert (log.spent, log.left, len(log.frontier)) == (0, 5, 2)
    log.evaluate(gauge.space.top)
    log.note(gauge.space.bottom, 1.0, 0.0)
    log.charge(2)
    assert (log.spent, log.left, len(log.risks)) == (4, 1, 2)
    with pytest.raises(Spent):
        log.charge(2)
    log.evaluate(gauge.space.top)
    with pytest.raises(Spent):
        log.evaluate(gauge.space.top)
    with pytest.raises(Spent):
        log.note(gauge.space.top, 0.0, 0.0)
    # what was refused is not there
    assert (log.spent, len(log.risks), len(log.losses), len(log.policies)) == (5, 3, 3, 3)
    assert (log.frontier.risks[-1], log.frontier.losses[-1]) == (1.0, 0.0)


def test_a_policy_at_the_ends_is_on_the_frontier_before_any_is_evaluated() -> None:
    gauge = Gauge(random_cells(np.random.default_rng(2), (5, 4), 40))
    space = gauge.space
    assert gauge(space.bottom) == (1.0, 0.0)
    assert gauge(space.top)[1] == 1.0
    log = Log(gauge, 0)
    assert [p.policy for p in log.frontier] == [space.pack(space.top), space.pack(space.bottom)]
    with pytest.raises(Spent):
        log.evaluate(space.top)


def test_progress_is_told_of_evaluations_and_of_what_is_spent() -> None:
    told: list[Weighed] = []
    gauge = Gauge(random_cells(np.random.default_rng(3), (3, 3), 20))
    log = Log(gauge, 1000, told.append)
    log.charge(10)
    for _ in range(2 * Log.EVERY + 1):
        log.evaluate(gauge.space.top)
    assert told == [Weighed(10 + Log.EVERY, 1000), Weighed(10 + 2 * Log.EVERY, 1000)]


def test_areas_are_those_of_shorter_searches() -> None:
    gauge = Gauge(random_cells(np.random.default_rng(4), (6, 4, 3), 60))

    def search(log: Log, rng: np.random.Generator) -> None:
        while True:
            log.evaluate(rng.random(log.gauge.space.length) < rng.random())

    budgets = np.array([0, 1, 7, 30, 60, 90])
    areas = explore(search, gauge, 60, np.random.default_rng(5)).areas(budgets)
    single = [explore(search, gauge, int(b), np.random.default_rng(5)) for b in budgets[:5]]
    assert areas[:5].tolist() == [log.frontier.area for log in single]
    assert areas[5] == areas[4]
    assert (np.diff(areas) <= 0).all()
