"""Cells whose ends are joined: policies that tell no least and no greatest value of the records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_cells import cells

from dbdeid.methods.policy.search.measures import LOSSES, RISKS, Domain
from dbdeid.methods.policy.search.merges import Walk
from dbdeid.methods.policy.search.policies import Cells, Gauge
from dbdeid.methods.policy.search.programme import divide, tabulate

EVERY = [(risk, loss) for risk in RISKS for loss in LOSSES]
every_measure = pytest.mark.parametrize(("risk", "loss"), EVERY)


def two_gauges(found: Cells, risk: str, loss: str) -> tuple[Gauge, Gauge]:
    """Of the cells with all values apart, and with joined ends."""
    joined = found.joined([True] * len(found.domains))
    return Gauge(found, RISKS[risk], LOSSES[loss]), Gauge(joined, RISKS[risk], LOSSES[loss])


def test_ends_without_records_are_one_with_the_next_value() -> None:
    ages = np.arange(10)
    records = np.array([0, 0, 1, 0, 2, 0, 0, 1, 0, 0])
    found = Cells((Domain("age", 10),), (ages,), records, records + 1)
    joined = found.joined([True])
    (domain,) = joined.domains
    assert (domain.head, domain.size, domain.tail, domain.reach) == (2, 6, 2, 10)
    starts = found.space.starts(joined.whole(joined.space.bottom))[0]
    assert starts.tolist() == [0, 3, 4, 5, 6, 7]
    assert domain.width(np.array([0, 1, 5]), np.array([1, 5, 6])).tolist() == [3, 4, 3]
    assert found.joined([False]).domains == found.domains


@pytest.mark.sampled(3)
@every_measure
@given(found=cells(), seed=st.integers(0, 1000))
def test_a_policy_has_the_risk_and_loss_that_it_has_over_all_values(
    risk: str, loss: str, found: Cells, seed: int
) -> None:
    whole, joined = two_gauges(found, risk, loss)
    bits = np.random.default_rng(seed).random(joined.space.length) < 0.5
    for policy in (bits, joined.space.top, joined.space.bottom):
        assert joined(policy) == pytest.approx(whole(joined.cells.whole(policy)), abs=1e-11)


@given(found=cells(), seed=st.integers(0, 1000))
def test_no_policy_cuts_values_off_that_no_record_has(found: Cells, seed: int) -> None:
    joined = found.joined([True] * len(found.domains))
    bits = np.random.default_rng(seed).random(joined.space.length) < 0.7
    groups = found.space.groups(joined.whole(bits))
    for group, own in zip(groups, found.marginals, strict=True):
        there = np.flatnonzero(own)
        assert group[there[0]] == group[0]
        assert group[there[-1]] == group[-1]


@pytest.mark.sampled(4)
@every_measure
@given(found=cells(), seed=st.integers(0, 1000))
def test_merges_and_divisions_know_the_joined_ends(
    risk: str, loss: str, found: Cells, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    _, gauge = two_gauges(found, risk, loss)
    walk = Walk(gauge)
    for bit in rng.permutation(gauge.space.length):
        attribute = next(i for i, s in enumerate(gauge.space.slices) if s.start <= bit < s.stop)
        reached = walk.merge(attribute, int(bit) - gauge.space.slices[attribute].start)
        assert reached == pytest.approx(gauge(walk.bits), abs=1e-9)
    bits = rng.random(gauge.space.length) < 0.5
    for attribute, size in enumerate(gauge.space.sizes):
        table = tabulate(gauge, bits, attribute, size)
        for policy, *sums in divide(table, np.array([0.5, 2.0])):
            assert gauge.of_sums(*sums) == pytest.approx(gauge(policy), abs=1e-9)
