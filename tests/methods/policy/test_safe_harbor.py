"""The Safe Harbor rule as intervals: ages pooled from 90, ZIP areas of three digits, small ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdeid.methods.policy.search.safe_harbor import SMALL, age_starts, zip_starts


def pooled(people: list[int]) -> tuple[list[int], list[int]]:
    """Of areas with these people, each of one ZIP code: where intervals start, and the small."""
    zips = [f"{i:03}00" for i in range(len(people))]
    starts, small = zip_starts(zips, np.array(people))
    return starts.tolist(), small


@pytest.mark.parametrize(
    ("ages", "starts"),
    [
        (range(121), list(range(91))),
        (range(18, 90), list(range(72))),
        ([88, 89.5, 90, 91], [0, 1, 2]),
        ([95, 96], [0]),
        ([0], [0]),
    ],
)
def test_ages_from_90_are_one(ages: list[float], starts: list[int]) -> None:
    assert age_starts(list(ages)).tolist() == starts


def test_zip_codes_are_told_by_three_digits() -> None:
    zips = ["37010", "37012", "37101", "37115", "38001"]
    starts, small = zip_starts(zips, np.full(5, SMALL + 1))
    assert (starts.tolist(), small) == ([0, 2, 4], [])


@pytest.mark.parametrize(
    ("people", "starts", "small"),
    [
        ([SMALL, 90_000, 50_000], [0, 2], [0]),
        ([90_000, 100, 50_000], [0, 1], [1]),
        ([50_000, 100, 90_000], [0, 2], [1]),
        ([60_000, 12_000, 11_000, 70_000], [0, 1, 3], [1, 2]),
        ([10, 20, 30], [0], [0, 1, 2]),
        ([SMALL + 1], [0], []),
    ],
)
def test_small_areas_join_the_smaller_one_beside_them(
    people: list[int], starts: list[int], small: list[int]
) -> None:
    assert pooled(people) == (starts, small)


@given(st.lists(st.integers(0, 60_000), min_size=1, max_size=12))
def test_no_area_stays_small_and_large_ones_stay_alone_without_small_ones(
    people: list[int],
) -> None:
    starts, small = pooled(people)
    sizes = np.add.reduceat(people, starts)
    assert len(sizes) == 1 or sizes.min() > SMALL
    assert small == [i for i, size in enumerate(people) if size <= SMALL]
    if not small:
        assert starts == list(range(len(people)))
