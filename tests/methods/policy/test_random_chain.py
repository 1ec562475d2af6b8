from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_cells import cells, random_cells
from tiers import examples

from dbdeid.methods.policy.search.frontier import explore
from dbdeid.methods.policy.search.merges import Walk
from dbdeid.methods.policy.search.policies import Cells, Gauge
from dbdeid.methods.policy.search.random_chain import merges, random_chain


@given(cells(), st.integers(0, 10_000))
@settings(deadline=None, max_examples=examples(60))
def test_chains_lead_from_the_bottom_to_the_top(found: Cells, seed: int) -> None:
    gauge = Gauge(found)
    space = gauge.space
    levels = space.length + 1
    log = explore(random_chain, gauge, 2 * levels + 1, np.random.default_rng(seed))
    assert log.spent == len(log.risks) == 2 * levels + 1
    policies = [space.unpack(policy) for policy in log.policies]
    for start in (0, levels):
        own = policies[start : start + levels]
        assert own[0].all()
        assert not own[-1].any()
        for one, next_ in pairwise(own):
            assert (next_ <= one).all()
            assert int((one != next_).sum()) == 1
        risks, losses = (numbers[start : start + levels] for numbers in (log.risks, log.losses))
        assert risks == sorted(risks, reverse=True)
        assert losses == sorted(losses)
        assert (risks[0], losses[0]) == (1.0, 0.0)
        assert losses[-1] == 1.0 or max(space.sizes) == 1 or gauge(space.top)[1] == 0
    for bits, risk, loss in zip(policies, log.risks, log.losses, strict=True):
        # a walk adds up what changes, and both round to twelve digits
        assert gauge(bits) == pytest.approx((risk, loss), rel=0, abs=2e-12)


def test_merges_name_what_they_merge() -> None:
    gauge = Gauge(random_cells(np.random.default_rng(1), (4, 1, 3), 40))
    space = gauge.space
    walk = Walk(gauge, space.bottom)
    order = np.array([4, 0, 2])
    steps = [*merges(walk, order)]
    assert [(step.attribute, step.cut) for step in steps] == [(2, 1), (0, 0), (0, 2)]
    assert walk.bits.tolist() == [False, True, False, True, False]
    assert steps[-1][2:] == gauge(walk.bits)


def test_the_seed_says_what_is_found_and_more_budget_is_no_worse() -> None:
    gauge = Gauge(random_cells(np.random.default_rng(2), (9, 7, 4), 200))
    logs = [
        explore(random_chain, gauge, budget, np.random.default_rng(seed))
        for seed, budget in ((1, 150), (1, 150), (2, 150), (1, 60))
    ]
    assert logs[0].policies == logs[1].policies
    assert logs[0].policies != logs[2].policies
    assert logs[3].policies == logs[0].policies[:60]
    areas = logs[0].areas(np.arange(0, 151, 10))
    assert (np.diff(areas) <= 0).all()
    assert areas[6] == pytest.approx(logs[3].frontier.area)
