from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_problems import gauges
from tiers import examples

from dbdeid.methods.policy.search.programme import divide, tabulate
from dbdeid.methods.policy.search.surrogate import units


@pytest.mark.full
@given(gauges(sparse=False, most=7), st.data())
@settings(deadline=None, max_examples=examples(80))
def test_no_division_of_the_attribute_is_better(gauge, data):
    space = gauge.space
    attribute = data.draw(st.integers(0, len(space.sizes) - 1))
    bits = np.random.default_rng(data.draw(st.integers(0, 99))).random(space.length) < 0.5
    size = space.sizes[attribute]
    reach = data.draw(st.integers(1, size))
    table = tabulate(gauge, bits, attribute, reach)
    risk_unit, loss_unit = units(gauge)
    weights = np.array([0.01, 0.3, 1.0, 5.0, 100.0]) / risk_unit
    own = space.slices[attribute]
    costs = []
    for number in range(1 << (size - 1)):
        other = bits.copy()
        other[own] = (number >> np.arange(size - 1) & 1).astype(bool)
        if np.diff(np.append(space.starts(other)[attribute], size)).max() <= reach:
            risk, loss = gauge.sums(other)
            costs.append(weights * risk + loss / loss_unit)
    least = np.min(costs, axis=0)
    for weight, cost, (policy, risk, loss) in zip(
        weights, least, divide(table, weights, 1 / loss_unit), strict=True
    ):
        assert weight * risk + loss / loss_unit == pytest.approx(cost, abs=1e-9)
        assert (risk, loss) == pytest.approx(gauge.sums(policy), abs=1e-9)
        outside = np.ones(space.length, bool)
        outside[own] = False
        assert np.array_equal(policy[outside], bits[outside])
