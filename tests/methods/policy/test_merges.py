from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_problems import SPARSE, cells_of, gauges
from tiers import examples

from dbdeid.methods.policy.search.hash_lookup import Places
from dbdeid.methods.policy.search.measures import Domain
from dbdeid.methods.policy.search.merges import Walk
from dbdeid.methods.policy.search.policies import Cells, Gauge

CLOSE = 2e-12  # both are rounded to twelve digits


def start(gauge, density, rng):
    return rng.random(gauge.space.length) < density


def attribute_of(space, bit):
    """The attribute of a bit, and its place there."""
    for attribute, own in enumerate(space.slices):
        if own.start <= bit < own.stop:
            return attribute, bit - own.start
    raise AssertionError(bit)


@given(gauges(), st.sampled_from([0.0, 0.3, 0.8, 1.0]), st.integers(0, 9))
@settings(deadline=None, max_examples=examples(150))
def test_a_walk_is_where_the_data_says_it_is(gauge, density, seed):
    rng = np.random.default_rng(seed)
    bits = start(gauge, density, rng)
    walk = Walk(gauge, bits)
    assert walk.point == pytest.approx(gauge(bits), abs=CLOSE)
    order = rng.permutation(np.flatnonzero(bits))
    for step, bit in enumerate(order):
        attribute, cut = attribute_of(gauge.space, bit)
        expected = walk.change(attribute, cut)
        before = walk.risk_sum, walk.loss_sum
        found = walk.merge(attribute, cut)
        bits[bit] = False
        assert np.array_equal(walk.bits, bits)
        assert (walk.risk, walk.loss) == found
        # added in another order, a sum may round to another last digit
        assert found == pytest.approx(gauge.of_sums(*(np.array(before) + expected)), abs=CLOSE)
        if step % 7 == 0 or step == len(order) - 1:
            assert found == pytest.approx(gauge(bits), abs=CLOSE)


@given(gauges(), st.sampled_from([0.2, 0.7, 1.0]), st.integers(0, 9))
@settings(deadline=None, max_examples=examples(100))
def test_neighbours_are_what_merges_lead_to(gauge, density, seed):
    rng = np.random.default_rng(seed)
    bits = start(gauge, density, rng)
    walk = Walk(gauge, bits)
    for bit in rng.permutation(np.flatnonzero(bits))[:3]:
        walk.merge(*attribute_of(gauge.space, bit))
    for attribute in range(len(gauge.space.sizes)):
        cuts, risks, losses = walk.neighbours(attribute)
        assert np.array_equal(cuts, np.flatnonzero(walk.bits[gauge.space.slices[attribute]]))
        for cut, risk, loss in list(zip(cuts, risks, losses, strict=True))[::5]:
            assert (risk, loss) == pytest.approx(walk.change(attribute, int(cut)), abs=1e-9)
            other = walk.copy()
            sums = gauge.of_sums(walk.risk_sum + risk, walk.loss_sum + loss)
            assert other.merge(attribute, int(cut)) == pytest.approx(sums, abs=CLOSE)
            assert other.point == pytest.approx(gauge(other.bits), abs=CLOSE)


@pytest.mark.full
@given(gauges(), st.integers(0, 9))
@settings(deadline=None, max_examples=examples(150))
def test_no_merge_raises_the_risk_or_lowers_the_loss(gauge, seed):
    rng = np.random.default_rng(seed)
    walk = Walk(gauge)
    risk, loss = walk.point
    assert loss == 0
    for bit in rng.permutation(gauge.space.length)[:40]:
        was, lost = risk, loss
        risk, loss = walk.merge(*attribute_of(gauge.space, bit))
        assert risk <= was + CLOSE
        assert loss >= lost - CLOSE


@given(gauges(), st.integers(0, 9))
@settings(deadline=None, max_examples=examples(50))
def test_a_copy_goes_its_own_way(gauge, seed):
    rng = np.random.default_rng(seed)
    walk = Walk(gauge)
    order = rng.permutation(gauge.space.length)[:40]
    half = len(order) // 2
    for bit in order[:half]:
        walk.merge(*attribute_of(gauge.space, bit))
    here, bits = walk.point, walk.bits.copy()
    other = walk.copy()
    for bit in order[half:]:
        other.merge(*attribute_of(gauge.space, bit))
    assert walk.point == here
    assert np.array_equal(walk.bits, bits)
    assert other.point == pytest.approx(gauge(other.bits), abs=CLOSE)
    for bit in order[half:]:
        walk.merge(*attribute_of(gauge.space, bit))
    assert walk.point == pytest.approx(other.point, abs=CLOSE)


@pytest.mark.full
def test_long_walks_do_not_drift():
    gauge = Gauge(cells_of(1, (400, 60, 2), population=True, count=5000))
    walk, rng = Walk(gauge), np.random.default_rng(0)
    for bit in rng.permutation(gauge.space.length)[:-1]:
        attribute, cut = attribute_of(gauge.space, bit)
        walk.merge(attribute, cut)
        assert walk.risk_sum == pytest.approx(gauge.sums(walk.bits)[0], rel=1e-12)
        assert walk.loss_sum == pytest.approx(gauge.sums(walk.bits)[1], rel=1e-12)


def test_too_many_combinations_to_number():
    domains = tuple(Domain(f"a{i}", 2) for i in range(63))
    one = np.array([1])
    wide = Gauge(Cells(domains, (one,) * 63, one, one))
    with pytest.raises(OverflowError):
        Walk(wide)


def test_without_cells():
    none = np.array([], np.int64)
    gauge = Gauge(Cells((Domain("a", 3), Domain("b", 2)), (none, none), none, none))
    walk = Walk(gauge)
    assert walk.merge(0, 1) == (0, 0)
    assert walk.neighbours(0)[0].tolist() == [0]


@given(st.data(), st.sampled_from([50, 1 << 50]))
@settings(deadline=None)
def test_places_are_those_of_a_dict(data, space):
    numbers = data.draw(st.lists(st.integers(0, space - 1), unique=True, max_size=40))
    asked = data.draw(st.lists(st.integers(0, space - 1), max_size=20))
    half = len(numbers) // 2
    places = Places(np.array(numbers[:half], np.int64), space)
    copied = places.copy()
    places.put(np.array(numbers[half:], np.int64), np.arange(half, len(numbers)))
    for known, own in ((numbers, places), (numbers[:half], copied)):
        expected = {number: place for place, number in enumerate(known)}
        found = own.find(np.array(numbers + asked, np.int64))
        assert found.tolist() == [expected.get(number, -1) for number in numbers + asked]


def test_sparse_problems_are_hashed():
    gauge = Gauge(cells_of(1, SPARSE, population=True, count=80))
    assert not Walk(gauge)._places._dense
