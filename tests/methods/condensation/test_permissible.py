from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdeid.methods.condensation.permissible import (
    ASSIGNED,
    Ends,
    by_counts,
    by_rank,
    most_likely,
    on_grid,
    rounded,
)

NONE = np.nan
SHARED = Ends(0.0, 5.0, low_is_shared=True, high_is_shared=True)


def test_numbers_go_to_their_grid_and_into_the_range_of_the_table() -> None:
    scores = np.array([[-7.0, 0.24, 0.26, 9.0]])
    assert rounded(scores, 0.1, SHARED, None).tolist() == [[0.0, 0.2, 0.3, 5.0]]
    assert (
        rounded(scores, 0.0, replace(SHARED, low=-9.0, high=9.0), None).tolist() == scores.tolist()
    )
    assert on_grid(np.array([12.0, 13.0, -12.0]), 5.0).tolist() == [10.0, 15.0, -10.0]
    assert not np.signbit(on_grid(np.array([-0.2, -0.02]), 1.0)).any()
    lost = rounded(scores, 1.0, SHARED, np.array([[False, True, False, False]]))
    assert np.isnan(lost).tolist() == [[False, True, False, False]]


def test_ends_are_shared_by_as_many_as_a_cluster_has() -> None:
    values = np.array([0.0, 0.0, 0.0, 2.0, 7.0, NONE, 7.0])
    assert Ends.of(values, 3) == Ends(0.0, 7.0, low_is_shared=True, high_is_shared=False)
    assert Ends.of(values, 2) == Ends(0.0, 7.0, low_is_shared=True, high_is_shared=True)
    nothing = Ends.of(np.array([NONE]), 2)
    assert (nothing.low, nothing.high) == (0.0, 0.0)


@given(
    st.floats(-50, 50),
    st.floats(0.5, 50),
    st.booleans(),
    st.booleans(),
    st.lists(st.floats(-500, 500), min_size=1, max_size=8),
)
def test_numbers_stay_in_range_and_only_shared_ends_are_held(
    low: float, width: float, few: bool, fewer: bool, drawn: list[float]
) -> None:
    ends = Ends(low, low + width, low_is_shared=not few, high_is_shared=not fewer)
    values = np.array(drawn)
    found = ends.within(values)
    assert ((found >= ends.low) & (found <= ends.high)).all()
    inside = (values >= ends.low) & (values <= ends.high)
    assert found[inside] == pytest.approx(values[inside], abs=1e-9)
    # a number beyond an end of few is as far inside of it, as long as the range has room
    near = (values > ends.high) & (values < ends.high + width)
    if fewer:
        assert found[near] == pytest.approx(2 * ends.high - values[near], abs=1e-9)
    else:
        assert (found[values > ends.high] == ends.high).all()


def test_the_paper_takes_the_largest_indicator() -> None:
    scores = np.array([[[0.2, 0.7, 0.1], [0.3, 0.1, 0.2]]])
    assert most_likely(scores, np.array([2.0, 4.0, 5.0])).tolist() == [[4.0, 2.0]]
    assert most_likely(np.array([[[0.51], [0.5]]]), np.array([3.0, 8.0])).tolist() == [[8.0, 3.0]]


def test_two_categories_go_to_the_largest_indicators() -> None:
    scores = np.array([[[0.1], [0.9], [0.4], [0.3]], [[0.1], [0.9], [0.4], [0.3]]])
    source = np.array([[6.0, 1, 1, 6], [1, 1, 1, 6]])
    found = by_counts(scores, np.array([1.0, 6.0]), source)
    assert found.tolist() == [[1, 6, 6, 1], [1, 6, 1, 1]]


def test_more_categories_are_assigned_at_best() -> None:
    rng = np.random.default_rng(0)
    codes = np.array([1.0, 2.0, 5.0, 9.0])
    source = codes[rng.integers(0, 4, (20, 6))]
    scores = rng.normal(size=(20, 6, 4))
    found = by_counts(scores, codes, source)
    for cluster in range(20):
        assert sorted(found[cluster]) == sorted(source[cluster])

        def total(values: tuple[float, ...], own: np.ndarray = scores[cluster]) -> float:
            return float(own[np.arange(6), np.searchsorted(codes, values)].sum())

        best = max(total(order) for order in set(permutations(source[cluster])))
        assert total(tuple(found[cluster])) == pytest.approx(best)


def test_in_large_clusters_the_rarest_category_chooses_first() -> None:
    size = ASSIGNED + 1
    rng = np.random.default_rng(1)
    codes = np.arange(3.0)
    source = np.repeat([codes], [size - 12, 10, 2], axis=1)[[0, 0]]
    source[1] = rng.permutation(source[1][:size])
    scores = rng.normal(size=(2, size, 3))
    found = by_counts(scores, codes, source)
    for cluster in range(2):
        assert np.bincount(found[cluster].astype(int)).tolist() == [size - 12, 10, 2]
        own = scores[cluster]
        assert set(np.flatnonzero(found[cluster] == 2)) == set(np.argsort(own[:, 2])[-2:])
        rest = np.flatnonzero(found[cluster] != 2)
        taken = rest[np.argsort(own[rest, 1])[-10:]]
        assert set(np.flatnonzero(found[cluster] == 1)) == set(taken)


def test_exact_numbers_are_those_of_the_cluster_in_the_drawn_order() -> None:
    source = np.array([[5.0, 1.0, 3.0], [4.0, 4.0, 2.0]])
    scores = np.array([[0.3, 0.2, 0.1], [-1.0, 7.0, 0.0]])
    assert by_rank(scores, None, source, 1.0, None).tolist() == [[5, 3, 1], [2, 4, 4]]


def test_missing_numbers_go_to_the_largest_indicators() -> None:
    source = np.array([[NONE, 1.0, 3.0, NONE], [NONE] * 4, [1.0, 2.0, 3.0, 4.0]])
    scores = np.array([[4.0, 3.0, 2.0, 1.0]] * 3)
    missing = np.array([[0.1, 0.9, 0.3, 0.4], [1, 1, 1, 1], [0, 0, 0, 0]])
    found = by_rank(scores, missing, source, 1.0, None)
    expected = [[3, NONE, 1, NONE], [NONE] * 4, [4, 3, 2, 1]]
    assert np.array_equal(found, expected, equal_nan=True)


def test_quantiles_lie_between_the_numbers_and_keep_the_mean() -> None:
    rng = np.random.default_rng(2)
    source = np.repeat(rng.lognormal(sigma=1.5, size=(1, 50)), 2000, axis=0)
    scores = rng.normal(size=source.shape)
    found = by_rank(scores, None, source, 0.0, rng)
    ordered = np.sort(source[0])
    assert not np.isin(found, ordered).any()
    ranks = np.sort(found, axis=1)
    # Each is the quantile of its own part: half a place away from its number at most.
    low = (ordered[1:-1] + ordered[:-2]) / 2
    high = (ordered[1:-1] + ordered[2:]) / 2
    assert (low <= ranks[:, 1:-1]).all()
    assert (ranks[:, 1:-1] <= high).all()
    assert np.array_equal(np.argsort(found, axis=1), np.argsort(scores, axis=1))
    assert found.mean() == pytest.approx(ordered.mean(), rel=0.01)


def test_on_a_grid_a_quantile_of_half_missing_numbers_is_permissible() -> None:
    rng = np.random.default_rng(3)
    source = np.where(rng.random((30, 21)) < 0.5, NONE, rng.integers(0, 9, (30, 21)))
    missing = np.isnan(source) + rng.normal(size=source.shape)
    found = by_rank(rng.normal(size=source.shape), missing, source, 1.0, rng)
    assert np.array_equal(np.isnan(found).sum(axis=1), np.isnan(source).sum(axis=1))
    assert {*found[~np.isnan(found)]} <= {*map(float, range(9))}
