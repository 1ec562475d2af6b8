"""Propensity: nothing tells equal records apart, and records drawn anew have a ratio of one."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.utility.fidelity import propensity as module
from dbdeid.utility.fidelity.levels import CodedSides, Ints, indicators
from dbdeid.utility.fidelity.propensity import propensity
from dbdeid.utility.fidelity.sides import ColumnPair

SIZES = (6, 5, 4)


def sides(source: Ints, released: Ints, sizes: tuple[int, ...] = SIZES) -> CodedSides:
    columns = tuple(ColumnPair(f"c{i}", i, False, False, False) for i in range(len(sizes)))
    spreads = tuple(np.eye(size) for size in sizes)
    return CodedSides(columns, sizes, source, released, spreads, np.ones(len(released)))


def people(rng: np.random.Generator, number: int) -> Ints:
    one, other = rng.integers(0, 4, number), rng.integers(0, 2, number)
    return np.column_stack((one, (one + other) % 3, rng.integers(0, 2, number)))


def test_nothing_tells_the_source_from_itself() -> None:
    source = people(np.random.default_rng(1), 500)
    found = propensity(sides(source, source))
    assert found == (pytest.approx(0, abs=1e-12), pytest.approx(0, abs=1e-9))


def test_everything_tells_records_that_nobody_has() -> None:
    source = people(np.random.default_rng(1), 300)
    other = source.copy()
    other[:, 2] = 2
    found = propensity(sides(source, other))
    assert found is not None
    assert found.share > 0.99


@pytest.mark.full
@pytest.mark.parametrize("most", [50_000, 500])
def test_records_drawn_anew_have_a_ratio_of_about_one(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", most)  # a part of either side has more chance in it
    rng = np.random.default_rng(5)
    ratios = []
    for _ in range(60):
        source = people(rng, 1000)
        found = propensity(sides(source, source[rng.integers(0, 1000, 1000)]))
        assert found is not None
        ratios.append(found.ratio)
    # the mean of 60 chi-squares of 6 over 6 has a deviation of 0.075
    assert np.mean(ratios) == pytest.approx(1, abs=0.25)


def test_it_is_that_of_a_logistic_regression() -> None:
    rng = np.random.default_rng(8)
    source, released = people(rng, 400), people(rng, 300)
    released[::4, 0] = 3
    found = propensity(sides(source, released))
    assert found is not None
    both = np.concatenate((source, released))
    design = indicators(both, SIZES).toarray()
    design = design[:, design.any(axis=0)]
    known = np.linalg.matrix_rank(design)
    side = np.repeat((0, 1), (400, 300))
    # of each column all levels but the first
    own = [sm.add_constant(np.eye(6)[both[:, 0]][:, 1:4])]
    own += [np.eye(3)[both[:, 1]][:, 1:], np.eye(2)[both[:, 2]][:, 1:]]
    chances = sm.Logit(side, np.hstack(own)).fit(disp=False).predict()
    share = 300 / 700
    error = ((chances - share) ** 2).mean()
    assert known == 1 + 3 + 2 + 1
    assert found.share == pytest.approx(error / (share * (1 - share)), rel=1e-3)
    snoke = (known - 1) * (1 - share) ** 2 * share / 700
    assert found.ratio == pytest.approx(error / snoke, rel=1e-3)


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 40))
def test_it_is_between_nothing_and_all(seed: int, before: int, after: int) -> None:
    rng = np.random.default_rng(seed)
    found = propensity(sides(people(rng, before), people(rng, after)))
    assert found is not None
    assert 0 <= found.share <= 1
    assert found.ratio >= 0


def test_of_nothing_or_of_equal_records_nothing_is_told() -> None:
    source = np.zeros((5, 3), np.int64)
    assert propensity(sides(source, source[:0])) is None
    assert propensity(sides(source, source)) == (0, 0)
