"""Policies evaluated in the database beside those on arrays, and beside ten lines of Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_problems import problems
from tiers import examples

from dbdeid.engine.duckdb.session import Session
from dbdeid.methods.policy.search.measures import LOSSES, RISKS, Domain
from dbdeid.methods.policy.search.policies import Bits, Cells, Gauge, total_of
from dbdeid.methods.policy.sql_policies import SqlGauge, upload_cells
from dbdeid.papers import tennessee
from dbdeid.papers.common.data import Data

MEASURES = {**RISKS, **LOSSES}
CLOSE = 1e-10
STATES = ("synthetic", "modelled")


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session.open(None, read_only=False) as session:
        yield session


def in_database(
    session: Session, cells: Cells, risk: str = "population", loss: str = "kl"
) -> SqlGauge:
    return SqlGauge(session, upload_cells(session, cells), cells.domains, risk, loss)


def random_policy(cells: Cells, seed: int) -> Bits:
    """Bits of any density, another for each attribute; now and then none or all."""
    rng = np.random.default_rng(seed)
    bits = cells.space.top
    for own in cells.space.slices:
        density = np.clip(rng.uniform(-0.1, 1.1), 0, 1)
        bits[own] = rng.random(own.stop - own.start) < density
    return bits


def judged(cells: Cells, bits: Bits) -> dict[str, float]:
    """What the measures add up, cell by cell and value by value."""
    place = [  # of each value, by attribute
        [sum(bits[own][:code]) for code in range(domain.size)]
        for own, domain in zip(cells.space.slices, cells.domains, strict=True)
    ]
    records: Counter[tuple[int, ...]] = Counter()
    people: Counter[tuple[int, ...]] = Counter()
    found = dict.fromkeys(MEASURES, 0.0)
    for *codes, n, g in zip(*cells.codes, cells.records, cells.people, strict=True):
        key = tuple(int(own[code]) for own, code in zip(place, codes, strict=True))
        records[key] += int(n)
        people[key] += int(g)
    for key, n in records.items():
        if n:
            found["population"] += n / people[key]
            found["uniques"] += people[key] == 1
            found["kl"] -= n * log(n)
            found["discernibility"] += n * n
            found["average_class_size"] += 1
    for i, domain in enumerate(cells.domains):
        width = Counter(int(k) for k in place[i])
        inside: Counter[int] = Counter()
        for key, n in records.items():
            inside[key[i]] += n
        for k, n in inside.items():
            if n:
                found["kl"] += n * log(width[k])
                share = (width[k] - 1) / (domain.size - 1) if domain.size > 1 else 0
                found["loss"] += n * share * domain.weight
                found["nonuniform_entropy"] += n * log(n)
    return found


@pytest.mark.full
@settings(deadline=None, derandomize=True, max_examples=examples(40))
@given(cells=problems(), seed=st.integers(0, 1000))
def test_all_measures_add_up_to_the_same(cells: Cells, seed: int, session: Session) -> None:
    bits = random_policy(cells, seed)
    found = in_database(session, cells).sums(bits)
    assert found == pytest.approx(judged(cells, bits), abs=CLOSE)
    on_arrays = {name: total_of(measure, cells, bits) for name, measure in MEASURES.items()}
    assert found == pytest.approx(on_arrays, abs=CLOSE)


@pytest.mark.full
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("risk", RISKS)
@settings(deadline=None, derandomize=True, max_examples=6)
@given(cells=problems(), seed=st.integers(0, 1000))
def test_risk_and_loss_are_those_on_arrays(
    cells: Cells, seed: int, risk: str, loss: str, session: Session
) -> None:
    gauge = in_database(session, cells, risk, loss)
    on_arrays = Gauge(cells, RISKS[risk], LOSSES[loss])
    for bits in (cells.space.top, cells.space.bottom, random_policy(cells, seed)):
        assert gauge(bits) == pytest.approx(on_arrays(bits), abs=CLOSE)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("risk", RISKS)
@settings(deadline=None, derandomize=True, max_examples=6)
@given(cells=problems(), seed=st.integers(0, 1000))
def test_neighbours_are_all_single_merges(
    cells: Cells, seed: int, risk: str, loss: str, session: Session
) -> None:
    bits = random_policy(cells, seed)
    found = in_database(session, cells, risk, loss).neighbours(bits)
    on_arrays = Gauge(cells, RISKS[risk], LOSSES[loss])
    cuts = [
        (i, cut)
        for i, own in enumerate(cells.space.slices)
        for cut in np.flatnonzero(bits[own]).tolist()
    ]
    assert [(near.attribute, near.cut) for near in found] == cuts
    for near in found:
        merged = bits.copy()
        merged[cells.space.slices[near.attribute].start + near.cut] = False
        assert (near.risk, near.loss) == pytest.approx(on_arrays(merged), abs=CLOSE)


@pytest.mark.full
@pytest.mark.parametrize("which", STATES)
def test_eighty_policies_of_tennessee(which: str, session: Session, shared: Path) -> None:
    cells = tennessee.cells(Data(shared / "data"), which)
    gauge, on_arrays = in_database(session, cells), Gauge(cells)
    policies = [random_policy(cells, seed) for seed in range(80)]
    densities = [bits.mean() for bits in policies]
    assert min(densities) < 0.05
    assert max(densities) > 0.95
    apart = [
        max(abs(one - other) for one, other in zip(gauge(bits), on_arrays(bits), strict=True))
        for bits in policies
    ]
    assert max(apart) <= CLOSE


@pytest.mark.full
@pytest.mark.parametrize("which", STATES)
def test_neighbours_in_tennessee(which: str, session: Session, shared: Path) -> None:
    cells = tennessee.cells(Data(shared / "data"), which)
    gauge, on_arrays = in_database(session, cells), Gauge(cells)
    bits = random_policy(cells, 3)
    found = gauge.neighbours(bits)
    assert len(found) == bits.sum()
    for near in found[:: len(found) // 30]:
        merged = bits.copy()
        merged[cells.space.slices[near.attribute].start + near.cut] = False
        assert (near.risk, near.loss) == pytest.approx(on_arrays(merged), abs=CLOSE)


def test_by_hand(session: Session) -> None:
    """Ages 0 to 3 and two sexes: records at (0, 0), twice (1, 0), (3, 1); people beside them."""
    codes = (np.array([0, 1, 2, 3]), np.array([0, 0, 0, 1]))
    records, people = np.array([1, 2, 0, 1]), np.array([1, 4, 5, 2])
    cells = Cells((Domain("age", 4), Domain("sex", 2)), codes, records, people)
    gauge = in_database(session, cells)
    # 1/1 + 2/4 + 1/2 = 2 is the risk of the bottom
    assert gauge(cells.space.bottom) == (1.0, 0.0)
    assert gauge(cells.space.top) == (pytest.approx(4 / 12 / 2), 1.0)
    # ages 0-1, 2-3; sexes apart: 3/5 + 1/2; the people of age 2 have another sex
    bits = np.array([False, True, False, True])
    risk, loss = gauge(bits)
    assert risk == pytest.approx(1.1 / 2)
    bottom = 2 * log(2)
    nats = 3 * log(2) + 1 * log(2) - 3 * log(3) + bottom
    top = 4 * log(4) + 4 * log(2) - 4 * log(4) + bottom
    assert loss == pytest.approx(nats / top)
    merged = gauge.neighbours(bits)
    assert [(near.attribute, near.cut) for near in merged] == [(0, 1), (1, 0)]
    # all ages: 3/10 + 1/2; sexes pooled: 3/5 + 1/7
    assert [near.risk for near in merged] == pytest.approx([0.8 / 2, (3 / 5 + 1 / 7) / 2])


def test_the_sample_itself_is_its_population(session: Session) -> None:
    records = np.array([1, 1, 2])
    cells = Cells((Domain("age", 3),), (np.arange(3),), records, records)
    gauge = in_database(session, cells, risk="uniques")
    assert [near.risk for near in gauge.neighbours(cells.space.bottom)] == [0.0, 0.5]
    # every cell with records adds one: risk is the number of classes, of the most there are
    chance = in_database(session, cells)
    risks = [near.risk for near in chance.neighbours(cells.space.bottom)]
    assert risks == pytest.approx([2 / 3, 2 / 3])


def test_a_cell_with_more_records_than_people_is_refused(session: Session) -> None:
    cells = Cells((Domain("age", 1),), (np.array([0]),), np.array([2]), np.array([1]))
    with pytest.raises(ValueError, match="more records than people"):
        upload_cells(session, cells)


def test_an_unknown_measure_is_refused(session: Session) -> None:
    cells = Cells((Domain("age", 1),), (np.array([0]),), np.array([1]), np.array([1]))
    with pytest.raises(ValueError, match="no measures"):
        SqlGauge(session, upload_cells(session, cells), cells.domains, "population", "entropy")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("each", [1, 2, 4, 5])
def test_nothing_is_lost_where_records_are_spread_evenly(each: int, session: Session) -> None:
    codes = tuple(np.indices((2, 4)).reshape(2, -1))
    records = np.full(8, each)
    cells = Cells((Domain("sex", 2), Domain("age", 4)), codes, records, records)
    for gauge in (in_database(session, cells), Gauge(cells)):
        losses = [gauge(np.arange(16)[i] >> np.arange(4) & 1 > 0)[1] for i in range(16)]
        assert losses == [0.0] * 16
