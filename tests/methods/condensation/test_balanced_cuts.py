from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.methods.condensation.bisection import bisect


@settings(deadline=None, max_examples=examples(80))
@given(
    k=st.integers(2, 40),
    n=st.integers(2, 900),
    m=st.integers(0, 6),
    distinct=st.integers(1, 900),
    seed=st.integers(0, 2**32),
)
def test_clusters_hold_k_to_2k_minus_1(k: int, n: int, m: int, distinct: int, seed: int) -> None:
    n = max(n, k)
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(distinct, m))[rng.integers(0, distinct, n)]
    clusters = bisect(points, k)
    sizes = np.bincount(clusters)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    assert sizes.sum() == n


@pytest.mark.sampled(3)
@pytest.mark.parametrize("k", [5, 10, 50, 100, 250, 500])
def test_clusters_stay_near_k(k: int) -> None:
    points = np.random.default_rng(0).normal(size=(20_000, 3))
    sizes = np.bincount(bisect(points, k))
    assert len(sizes) == 20_000 // k
    assert sizes.max() - sizes.min() <= np.log2(len(sizes)) + 1


def test_numbers_are_cut_into_intervals() -> None:
    numbers = np.random.default_rng(1).permutation(100.0 * np.arange(40))
    clusters = bisect(numbers[:, None], 10)
    assert sorted(sorted(numbers[clusters == c]) for c in range(4)) == [
        list(100.0 * np.arange(first, first + 10)) for first in (0, 10, 20, 30)
    ]


def test_the_first_cut_is_across_the_widest_direction() -> None:
    rng = np.random.default_rng(2)
    along = np.sort(rng.normal(size=200))
    points = along[:, None] * [3.0, -4.0] + rng.normal(scale=0.01, size=(200, 2))
    clusters = bisect(points, 100)
    assert {*clusters[:100]} != {*clusters[100:]}
    assert len({*clusters[:99]}) == len({*clusters[101:]}) == 1


def test_the_order_of_columns_with_opposite_signs_does_not_stop_the_search() -> None:
    # (1, 1) is at right angles to the leading axis, so it is no place to start from.
    line = np.linspace(-1, 1, 40)
    clusters = bisect(np.stack([line, -line], axis=1), 20)
    assert len({*clusters[:20]}) == 1
