from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.methods.condensation.nearest_clusters import fill, kmeans, nearest_groups


def filled_one_by_one(
    points: np.ndarray, centres: np.ndarray, labels: np.ndarray, k: int
) -> np.ndarray:
    """Step 2(c) word by word: one move after the other, donors checked after each."""
    labels = labels.copy()
    original = np.bincount(labels, minlength=len(centres))
    for receiver in np.argsort(original, kind="stable"):
        while (sizes := np.bincount(labels, minlength=len(centres)))[receiver] < k:
            free = np.flatnonzero(sizes[labels] > k)
            away = ((points[free] - centres[receiver]) ** 2).sum(axis=1)
            labels[free[np.argmin(away)]] = receiver
    return labels


@settings(deadline=None, max_examples=examples(80))
@given(
    k=st.integers(2, 9),
    number=st.integers(1, 12),
    rest=st.integers(0, 30),
    m=st.integers(1, 4),
    seed=st.integers(0, 2**32),
)
def test_filling_is_step_2c_word_by_word(k: int, number: int, rest: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(k * number + rest, m))
    centres = rng.normal(size=(number, m))
    # Few clusters hold most, and some nothing.
    labels = (number * rng.random(len(points)) ** 3).astype(np.int64)
    found = fill(points, centres, labels, k)
    assert np.array_equal(found, filled_one_by_one(points, centres, labels, k))
    assert np.bincount(found, minlength=number).min() >= k


def test_a_cluster_gives_only_while_it_has_more_than_k() -> None:
    points = np.array([[0.0], [1.0], [2.0], [3.0], [9.0], [10.0], [11.0]])
    labels = np.array([1, 1, 1, 0, 2, 2, 2])
    assert fill(points, np.array([[3.0], [1.0], [10.0]]), labels, 2).tolist() == [
        1,
        1,
        0,
        0,
        2,
        2,
        2,
    ]
    # Cluster 0 begins with nothing: after the record at 2, cluster 1 has no more to give.
    centres = np.array([[2.5], [1.0], [30.0]])
    labels = np.array([1, 1, 1, 2, 2, 2, 2])
    assert fill(points, centres, labels, 2).tolist() == [1, 1, 0, 0, 2, 2, 2]
    labels = np.array([1, 1, 1, 1, 1, 2, 2])
    assert fill(points, np.array([[10.6], [1.0], [11.0]]), labels, 2).tolist() == [
        1,
        1,
        1,
        0,
        0,
        2,
        2,
    ]


def test_kmeans_finds_what_is_apart_and_bears_few_distinct_records() -> None:
    rng = np.random.default_rng(0)
    places = np.repeat([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]], 20, axis=0)
    labels, centres = kmeans(places + rng.normal(size=(60, 2)), 20, rng)
    assert len({tuple(labels[i : i + 20]) for i in (0, 20, 40)}) == 3
    assert np.bincount(labels).tolist() == [20, 20, 20]
    labels, centres = kmeans(np.zeros((60, 2)), 10, rng)
    assert centres.shape == (6, 2)
    assert np.bincount(fill(np.zeros((60, 2)), centres, labels, 10)).tolist() == [10] * 6


@pytest.mark.parametrize("n", [10, 19, 20, 57])
def test_groups_hold_k_and_leftovers_join_the_nearest(n: int) -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(n, 3))
    sizes = np.bincount(nearest_groups(points, 10, rng))
    assert len(sizes) == n // 10
    assert sizes.min() >= 10
    assert sizes.sum() == n


def test_a_group_is_a_record_and_its_nearest() -> None:
    numbers = np.array([0.0, 1.0, 2.1, 50.0, 51.0, 52.1, 900.0])
    for seed in range(20):
        labels = nearest_groups(numbers[:, None], 3, np.random.default_rng(seed))
        groups = {frozenset(numbers[labels == label]) for label in (0, 1)}
        # What begins far out takes two from the others; else the far one is left over.
        if frozenset({0.0, 1.0, 2.1}) in groups:
            assert frozenset({50.0, 51.0, 52.1, 900.0}) in groups
