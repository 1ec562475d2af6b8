from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_problems import SPARSE, cells_of, gauges, policies
from tiers import examples

from dbdeid.methods.policy.search.frontier import Frontier, Log, explore
from dbdeid.methods.policy.search.greedy import FEW, descend, greedy
from dbdeid.methods.policy.search.measures import LOSSES, RISKS
from dbdeid.methods.policy.search.merges import Walk
from dbdeid.methods.policy.search.policies import Gauge
from dbdeid.methods.policy.search.surrogate import guessed, units
from dbdeid.papers import tennessee
from dbdeid.papers.common.data import Data

RNG = np.random.default_rng(0)


def frontier_of(gauge, rows):
    frontier = Frontier()
    for bits in rows:
        frontier.add(*gauge(bits), gauge.space.pack(bits))
    return frontier


@pytest.mark.full
@given(gauges(sparse=False, most=4))
@settings(deadline=None, max_examples=examples(60))
def test_it_finds_the_frontier_of_a_small_space(gauge):
    assert gauge.space.length <= FEW
    log = explore(greedy, gauge, 2 << gauge.space.length, RNG)
    true = frontier_of(gauge, policies(gauge.space))
    assert {*log.frontier} == {*true}


@given(gauges(), st.integers(0, 600))
@settings(deadline=None, max_examples=examples(60))
def test_every_point_is_the_policy_s(gauge, budget):
    log = explore(greedy, gauge, budget, RNG)
    assert log.spent <= budget
    assert len(log.risks) <= log.spent
    for risk, loss, packed in list(zip(log.risks, log.losses, log.policies, strict=True))[::7]:
        assert (risk, loss) == pytest.approx(gauge(gauge.space.unpack(packed)), abs=5e-12)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("loss", [*LOSSES])
@pytest.mark.parametrize("risk", [*RISKS])
def test_more_budget_goes_on_where_less_stopped(risk, loss):
    gauge = Gauge(cells_of(3, (40, 9, 2), True, 150), RISKS[risk], LOSSES[loss])
    logs = [explore(greedy, gauge, budget, RNG) for budget in (0, 1, 20, 150, 700)]
    for less, more in pairwise(logs):
        assert more.policies[: len(less.policies)] == less.policies
        assert more.frontier.area <= less.frontier.area
    assert logs[-1].frontier.area < 0.8 * logs[0].frontier.area


def test_it_stops_when_nothing_is_left_to_try():
    gauge = Gauge(cells_of(4, (9, 6, 2), True, 40))
    log = explore(greedy, gauge, 10**6, RNG)
    assert log.spent < 10**6


def test_it_draws_nothing():
    gauge = Gauge(cells_of(5, (30, 10), False, 100))
    rng = np.random.default_rng(1)
    before = rng.bit_generator.state
    one, other = explore(greedy, gauge, 500, rng), explore(greedy, gauge, 500, RNG)
    assert rng.bit_generator.state == before
    assert (one.policies, one.risks, one.losses) == (other.policies, other.risks, other.losses)


@pytest.mark.full
@given(gauges())
@settings(deadline=None, max_examples=examples(40))
def test_a_guess_is_an_order_of_all_bits(gauge):
    slices = gauge.space.slices
    bits = [slices[attribute].start + cut for attribute, cut in guessed(gauge)]
    assert sorted(bits) == list(range(gauge.space.length))


@given(gauges(sparse=False, most=5), st.integers(0, 9))
@settings(deadline=None, max_examples=examples(40))
def test_a_descent_weighs_all_first_merges_and_ends_at_the_top(gauge, seed):
    space = gauge.space
    bits = np.random.default_rng(seed).random(space.length) < 0.7
    walk, log = Walk(gauge, bits), Log(gauge, 10**5)
    descend(log, walk, units(gauge))
    noted = {*log.policies}
    assert not walk.bits.any()
    for bit in np.flatnonzero(bits):
        merged = bits.copy()
        merged[bit] = False
        assert space.pack(merged) in noted


@pytest.mark.parametrize("sizes", [(1,), (1, 1), (2,), SPARSE], ids=str)
def test_domains_of_one_value_and_wide_ones(sizes):
    gauge = Gauge(cells_of(7, sizes, True, 60))
    log = explore(greedy, gauge, 400, RNG)
    assert log.spent <= 400
    assert len(log.frontier) >= 1


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "areas"),
    [("synthetic", {100: 0.095, 1000: 0.090}), ("modelled", {100: 0.100, 1000: 0.0945})],
)
def test_little_budget_in_tennessee(shared, kind, areas):
    log = explore(greedy, Gauge(tennessee.cells(Data(shared / "data"), kind)), max(areas), RNG)
    found = log.areas(np.array([len(log.risks)]))
    assert found[0] == log.frontier.area
    for budget, most in areas.items():
        assert explore(greedy, log.gauge, budget, RNG).frontier.area <= most
