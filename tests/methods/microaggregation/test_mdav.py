"""MDAV: groups of k to 2k - 1 neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from clouds import as_points, cloud, columns, few_values, members, plain_mdav
from hypothesis import given
from hypothesis import strategies as st

from dbdeid.data.records import Attribute
from dbdeid.methods.microaggregation.groups import Groups, means, modes
from dbdeid.methods.microaggregation.mdav import mdav
from dbdeid.methods.microaggregation.mixed_points import Points, points_of


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("levels", [(), (3,), (2, 5)], ids=["numbers", "one", "two"])
def test_it_is_what_was_published(k: int, levels: tuple[int, ...]) -> None:
    points = cloud(k, 83, levels=levels)
    assert members(points, mdav(points, k)) == as_points(points, plain_mdav(columns(points), k))


def test_equal_records_are_taken_as_one_point_without_a_change() -> None:
    points = cloud(5, 60, weights=True)
    assert members(points, mdav(points, 4)) == as_points(points, plain_mdav(columns(points), 4))


@given(points=few_values(), k=st.integers(1, 8))
def test_every_record_is_in_one_group_of_k_to_2k(points: Points, k: int) -> None:
    whole = int(points.records.sum())
    found = mdav(points, min(k, whole))
    assert np.bincount(found.point, found.records, points.number).tolist() == list(points.records)
    assert found.sizes.min() >= min(k, whole)
    assert found.sizes.max() < 2 * k
    assert len(set(zip(found.point, found.group, strict=True))) == len(found.point)
    again = mdav(points, min(k, whole))
    assert all(
        (getattr(found, part) == getattr(again, part)).all()
        for part in ("point", "group", "records")
    )


def best(values: list[float], k: int) -> float:
    """The least SSE of groups of k or more sorted numbers (Hansen & Mukherjee 2003)."""
    ordered, least = sorted(values), {0: 0.0}
    for end in range(1, len(ordered) + 1):
        ends = [
            least[start] + float(np.var(ordered[start:end]) * (end - start))
            for start in least
            if end - start >= k
        ]
        if ends:
            least[end] = min(ends)
    return least[len(ordered)]


def deviation(points: Points, groups: Groups) -> float:
    own = points.numbers[0]
    return float((own[groups.point] - means(own, groups)[groups.group]) ** 2 @ groups.records)


@given(st.lists(st.integers(-50, 50), min_size=3, max_size=14), st.integers(2, 3))
def test_nothing_is_better_than_the_best(values: list[int], k: int) -> None:
    points = points_of([Attribute("x", np.array(values, float))], np.ones(len(values), np.int64))
    least = best(points.numbers[0].tolist(), k)
    assert deviation(points, mdav(points, k)) >= least - 1e-9


def test_clusters_that_are_far_apart_are_found() -> None:
    values = np.array([0, 1, 2, 100, 101, 102, 200, 201, 202, 300, 301, 302.0])
    points = points_of([Attribute("x", values)], np.ones(12, np.int64))
    assert deviation(points, mdav(points, 3)) == pytest.approx(best(points.numbers[0].tolist(), 3))


def test_a_missing_number_is_a_difference() -> None:
    values = np.array([1.0, np.nan, 2.0, np.nan, 1.5, np.nan])
    points = points_of([Attribute("x", values)], np.ones(6, np.int64))
    assert points.squares_to(1).tolist()[1::2] == [0, 0, 0]
    # the mean of those that are known, and one more for not being known
    assert points.squares_to(1)[::2] == pytest.approx(1 + points.numbers[0, ::2] ** 2)


def test_two_names_are_one_apart_and_weights_are_of_squares() -> None:
    points = points_of(
        [
            Attribute("c", np.array([0.0, 1, 2]), 3),
            Attribute("d", np.array([0.0, 1, 1]), 2, weight=4),
        ],
        np.array([1, 1, 2]),
    )
    assert points.squares_to(0).tolist() == [0, 5, 5]
    assert points.squares_to(1).tolist() == [5, 0, 1]
    mean = points.mean()
    expected = ((columns(points) - columns(points).mean(axis=0)) ** 2).sum(axis=1)
    assert points.squares_to_mean(mean)[[0, 1, 2, 2]] == pytest.approx(expected)


def test_the_mean_of_equal_numbers_is_that_number() -> None:
    groups = Groups(np.arange(3), np.zeros(3, np.int64), np.array([1, 1, 1]))
    assert means(np.array([0.1, 0.1, 0.1]), groups).tolist() == [0.1]
    assert means(np.array([np.nan, 0.3, np.nan]), groups).tolist() == [0.3]
    assert np.isnan(means(np.full(3, np.nan), groups)).all()


def test_the_most_frequent_is_the_first_of_several() -> None:
    groups = Groups(np.arange(5), np.array([0, 0, 0, 1, 1]), np.array([2, 1, 1, 1, 2]))
    assert modes(np.array([3.0, 1, 1, 0, 2]), groups).tolist() == [1, 2]


def test_large_numbers_do_not_hide_how_they_differ() -> None:
    values = np.array([1e15 + i for i in (0, 1, 2, 1000, 1001, 1002)])
    points = points_of([Attribute("x", values)], np.ones(6, np.int64))
    assert members(points, mdav(points, 3)) == [(0, 1, 2), (3, 4, 5)]
    assert points.numbers[0].var() == pytest.approx(1.0)
