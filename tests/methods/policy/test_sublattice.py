from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_cells import cells, random_cells
from tiers import examples

from dbdeid.methods.policy.baselines.nonoverlap import Pruned
from dbdeid.methods.policy.baselines.sublattice import SublatticeSearch, promise, random_sublattice
from dbdeid.methods.policy.search.frontier import Frontier, Log, explore
from dbdeid.methods.policy.search.policies import Cells, Gauge, Space

GRID = 16
COORDINATE = st.integers(0, GRID)
CORNERS = st.tuples(COORDINATE, COORDINATE).map(sorted)


def frontier_of(points: list[tuple[int, int]]) -> Frontier:
    frontier = Frontier()
    for risk, loss in points:
        frontier.add(risk / GRID, loss / GRID, b"")
    return frontier


def undominated(points: list[tuple[int, int]], risk: float, loss: float) -> bool:
    return not any(r <= risk and u <= loss for r, u in points)


@given(st.lists(st.tuples(COORDINATE, COORDINATE), max_size=8), CORNERS, CORNERS)
@settings(deadline=None, max_examples=examples(400))
def test_promise_is_the_share_of_the_box_that_is_not_dominated(
    points: list[tuple[int, int]], risks: list[int], losses: list[int]
) -> None:
    """Counted on a grid whose lines are where anything changes."""
    (left, right), (low, high) = risks, losses
    found = promise(frontier_of(points), (left / GRID, high / GRID), (right / GRID, low / GRID))
    assert 0 <= found <= 1
    if left == right or low == high:
        assert found == undominated(points, left, low)
    else:
        squares = [
            undominated(points, risk + 0.5, loss + 0.5)
            for risk in range(left, right)
            for loss in range(low, high)
        ]
        assert found == pytest.approx(np.mean(squares), abs=1e-12)


def test_losses_of_the_frontier_above_the_box_are_capped() -> None:
    """As eq. 1 stands, this box would promise 8.5 times itself."""
    frontier = frontier_of([(0, 16), (12, 3)])
    assert promise(frontier, (0.5, 0.25), (1.0, 0.125)) == pytest.approx(0.5 + 0.5 * 0.5)


def test_without_a_frontier_all_is_promised() -> None:
    assert promise(Frontier(), (0.0, 1.0), (1.0, 0.0)) == 1


@pytest.mark.full
@given(cells(), st.integers(0, 10_000))
@settings(deadline=None, max_examples=examples(150))
def test_every_policy_of_a_sublattice_is_in_its_box(found: Cells, seed: int) -> None:
    gauge, rng = Gauge(found), np.random.default_rng(seed)
    if not gauge.space.length:
        return
    drawn = random_sublattice(gauge.space, Pruned(gauge.space.length), rng)
    assert drawn is not None
    top, bottom = drawn
    assert (top <= bottom).all()
    assert (top != bottom).any()
    (least_risk, most_loss), (most_risk, least_loss) = gauge(top), gauge(bottom)
    for _ in range(5):
        between = top | (bottom & (rng.random(len(top)) < rng.random()))
        risk, loss = gauge(between)
        assert least_risk <= risk <= most_risk
        assert least_loss <= loss <= most_loss


@given(st.integers(1, 8), st.integers(0, 10_000))
@settings(deadline=None, max_examples=examples(100))
def test_sublattices_have_nothing_in_common_with_those_pruned(values: int, seed: int) -> None:
    """All are pruned that are drawn, until none is left."""
    space, rng = Space((values,)), np.random.default_rng(seed)
    pruned, seen = Pruned(space.length), 0
    policies = [space.unpack(bytes([n])) for n in range(0, 256, 1 << (8 - space.length))]
    while space.length and (drawn := random_sublattice(space, pruned, rng)) is not None:
        own = [p for p in policies if (drawn.top <= p).all() and (p <= drawn.bottom).all()]
        assert own
        assert not any(pruned.covers(policy) for policy in own)
        pruned.add(*drawn)
        seen += len(own)
    assert seen == (1 << space.length if space.length else 0)


def replayed(log: Log, threshold: float) -> tuple[int, int, int]:
    """Sublattices pruned, rejected and searched, and that each cost what it should."""
    gauge, space = log.gauge, log.gauge.space
    frontier = Frontier()
    for bits in (space.top, space.bottom):
        frontier.add(*gauge(bits), space.pack(bits))
    found, at = [0, 0, 0], 0
    pruned = Pruned(space.length)
    entries = [*zip(log.risks, log.losses, log.policies, strict=True)]
    while at + 2 <= len(entries):
        (*top_at, top), (*bottom_at, bottom) = entries[at : at + 2]
        hope = promise(frontier, (top_at[0], top_at[1]), (bottom_at[0], bottom_at[1]))
        general, specific = space.unpack(top), space.unpack(bottom)
        assert (general <= specific).all()
        assert not pruned.covers(general)
        assert not pruned.covers(specific)
        length = 2
        if hope > threshold:
            length += max(int((general != specific).sum()) - 1, 0)
        one_more = specific
        for _, _, policy in entries[at + 2 : at + length]:
            bits = space.unpack(policy)
            assert (bits <= one_more).all()
            assert int((bits != one_more).sum()) == 1
            assert (general <= bits).all()
            one_more = bits
        for entry in entries[at : at + length]:
            frontier.add(*entry)
        if not hope:
            pruned.add(general, specific)
        found[0 if not hope else 1 if hope <= threshold else 2] += 1
        at += length
    return found[0], found[1], found[2]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("threshold", [0.0, 0.25, 0.6])
def test_a_search_prunes_rejects_and_goes_down_chains(threshold: float) -> None:
    gauge = Gauge(random_cells(np.random.default_rng(1), (12, 8, 5), 300))
    log = explore(SublatticeSearch(threshold), gauge, 800, np.random.default_rng(2))
    assert log.spent == len(log.risks) == 800
    pruned, rejected, searched = replayed(log, threshold)
    assert pruned > 5
    assert (rejected > 5) == (threshold > 0)
    assert searched > 5
    for risk, loss, policy in zip(log.risks, log.losses, log.policies, strict=True):
        assert gauge(gauge.space.unpack(policy)) == (risk, loss)


def test_a_search_may_start_from_a_chain() -> None:
    gauge = Gauge(random_cells(np.random.default_rng(3), (9, 6), 100))
    space = gauge.space
    log = explore(SublatticeSearch(start="chain"), gauge, 100, np.random.default_rng(4))
    levels = [int(space.unpack(policy).sum()) for policy in log.policies]
    assert levels[: space.length + 1] == [*range(space.length, -1, -1)]
    assert log.spent == 100


@pytest.mark.parametrize("sizes", [(1,), (2,), (1, 2), (2, 2)], ids=str)
def test_a_search_of_few_policies_ends(sizes: tuple[int, ...]) -> None:
    gauge = Gauge(random_cells(np.random.default_rng(5), sizes, 20))
    log = explore(SublatticeSearch(), gauge, 200, np.random.default_rng(6))
    assert log.spent == len(log.risks) <= 200
    if sizes == (1,):
        assert not log.risks


def test_the_seed_says_what_is_found() -> None:
    gauge = Gauge(random_cells(np.random.default_rng(7), (9, 7, 4), 200))

    def found(seed: int, budget: int = 300) -> list[bytes]:
        return explore(SublatticeSearch(), gauge, budget, np.random.default_rng(seed)).policies

    assert found(1) == found(1)
    assert found(1) != found(2)
    # a smaller budget is the beginning, so that the area cannot grow
    assert found(1, 120) == found(1)[:120]
