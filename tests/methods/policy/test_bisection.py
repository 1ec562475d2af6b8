from __future__ import annotations

from math import ceil, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_cells import cells, random_cells
from tiers import examples

from dbdeid.methods.policy.baselines.bisection import Bisection, bisected
from dbdeid.methods.policy.search.frontier import Log, explore
from dbdeid.methods.policy.search.policies import Cells, Gauge


@pytest.mark.full
@given(cells(), st.integers(0, 10_000), st.data())
@settings(deadline=None, max_examples=examples(150))
def test_it_is_the_best_of_all_the_chain(found: Cells, seed: int, data: st.DataObject) -> None:
    gauge = Gauge(found)
    space = gauge.space
    order = np.random.default_rng(seed).permutation(space.length)
    chain = []
    for level in range(space.length + 1):
        bits = space.top
        bits[order[:level]] = True
        chain.append(gauge(bits))
    # also the very risk of a policy, which is within it
    limits = [risk for risk, _ in chain] + [(chain[0][0] + 1) / 2]
    limit = data.draw(st.sampled_from(limits))
    if limit >= 1:
        return
    log = Log(gauge, 100)
    answer = gauge(bisected(log, order, limit))
    assert answer == min((p for p in chain if p[0] <= limit), key=lambda p: (p[1], -p[0]))
    assert log.spent <= ceil(log2(max(space.length, 1)))


def test_a_search_goes_on_with_other_chains() -> None:
    gauge = Gauge(random_cells(np.random.default_rng(1), (12, 8, 5), 300))
    log = explore(Bisection(0.4), gauge, 200, np.random.default_rng(2))
    assert log.spent == len(log.risks) == 200
    # 24 policies between the ends: four or five evaluations a chain, the first in its middle
    levels = [int(gauge.space.unpack(policy).sum()) for policy in log.policies]
    assert 40 <= sum(level == gauge.space.length // 2 for level in levels) <= 60
    again = explore(Bisection(0.4), gauge, 200, np.random.default_rng(2))
    assert again.policies == log.policies


@pytest.mark.parametrize("risk", [-0.1, 1.0, 1.5])
def test_where_an_end_is_the_answer_nothing_is_evaluated(risk: float) -> None:
    gauge = Gauge(random_cells(np.random.default_rng(3), (6, 4), 50))
    assert not explore(Bisection(risk), gauge, 20, np.random.default_rng(4)).risks


@pytest.mark.parametrize("sizes", [(1,), (2,), (1, 1)], ids=str)
def test_where_nothing_is_between_the_ends_nothing_is_evaluated(sizes: tuple[int, ...]) -> None:
    gauge = Gauge(random_cells(np.random.default_rng(5), sizes, 50))
    assert not explore(Bisection(0.9), gauge, 20, np.random.default_rng(6)).risks
