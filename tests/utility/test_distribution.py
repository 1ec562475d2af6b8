"""Distances of distributions against scipy's, and against what a reader expects of labels."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from both_sides import Both, Pieces, compared
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance
from tiers import examples

from dbdeid.utility.fidelity.distribution import distribution


def distance(both: Both) -> float:
    with compared(x=both) as (session, sides):
        return distribution(session, sides)["x"]


values = st.lists(st.integers(-20, 40), min_size=2, max_size=30).filter(lambda v: len(set(v)) > 1)


@pytest.mark.full
@settings(max_examples=10, deadline=None)
@given(values, values, st.booleans(), st.sampled_from([1, 0.37]))
def test_of_numbers_it_is_scipys(
    source: list[int], released: list[int], whole: bool, unit: float
) -> None:
    if not whole:
        source, released = [v * unit for v in source], [v * unit for v in released]  # type: ignore[misc]
    found = distance(Both(source, released, number=True, whole=whole))
    expected = wasserstein_distance(source, released) / (max(source) - min(source))
    assert found == pytest.approx(min(expected, 1), abs=1e-12)
    assert distance(Both(source, source, number=True, whole=whole)) == 0


intervals = st.lists(
    st.tuples(st.integers(-20, 30), st.integers(1, 12)), min_size=1, max_size=5, unique=True
)


@pytest.mark.full
@settings(max_examples=examples(15), deadline=None)
@given(values, intervals, st.data())
def test_intervals_of_whole_numbers_are_spread_over_their_members(
    source: list[int], known: list[tuple[int, int]], data: st.DataObject
) -> None:
    pieces: Pieces = {f"{low}+{width}": [(low, low + width)] for low, width in known}
    chosen = data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=15))
    labels = [f"{low}+{width}" for low, width in chosen]
    found = distance(Both(source, labels, pieces, number=True, whole=True))
    members = [low + i for low, width in chosen for i in range(width)]
    weights = [1 / width for _, width in chosen for _ in range(width)]
    moved = wasserstein_distance(source, members, v_weights=weights)
    assert found == pytest.approx(min(moved / (max(source) - min(source)), 1), abs=1e-12)


@pytest.mark.full
@settings(max_examples=10, deadline=None)
@given(values, intervals, st.data())
def test_intervals_of_other_numbers_are_spread_evenly(
    source: list[int], known: list[tuple[int, int]], data: st.DataObject
) -> None:
    pieces: Pieces = {f"{low}+{width}": [(low, low + width)] for low, width in known}
    chosen = data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=15))
    labels = [f"{low}+{width}" for low, width in chosen]
    found = distance(Both(source, labels, pieces, number=True))
    # the area between distribution functions, by the middles of narrow strips
    edges = np.linspace(-25, 45, 70_001)
    middles = (edges[1:] + edges[:-1]) / 2
    before = np.searchsorted(np.sort(source), middles, side="right") / len(source)
    after = np.mean([np.clip((middles - low) / width, 0, 1) for low, width in chosen], axis=0)
    area = np.abs(before - after).sum() * 0.001
    assert found == pytest.approx(min(area / (max(source) - min(source)), 1), abs=1e-5)


def test_the_example_of_the_module() -> None:
    pieces: Pieces = {"[20, 24)": [(20, 24)]}
    spread = Both([20, 21, 22, 23], ["[20, 24)"] * 4, pieces, number=True, whole=True)
    assert distance(spread) == pytest.approx(0, abs=1e-15)
    crowded = Both([20, 20, 20, 23], ["[20, 24)"] * 4, pieces, number=True, whole=True)
    assert distance(crowded) == pytest.approx(0.25)


def test_narrow_intervals_on_a_long_range_leave_no_trace() -> None:
    pieces: Pieces = {"a": [(0, 1e-6)], "b": [(1, 1 + 1e-6)], "c": [(1e9, 1e9 + 1e-6)]}
    both = Both([0, 1, 1e9], ["a", "b", "c"], pieces, number=True)
    assert distance(both) < 1e-15


words = st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=1, max_size=25)


@pytest.mark.full
@settings(max_examples=10, deadline=None)
@given(words, words)
def test_of_categories_it_is_the_total_variation(source: list[Any], released: list[Any]) -> None:
    before, after = Counter(source), Counter(released)
    expected = sum(abs(before[v] / len(source) - after[v] / len(released)) for v in before | after)
    assert distance(Both(source, released)) == pytest.approx(expected / 2, abs=1e-12)
    assert distance(Both(source, source)) == 0


def test_a_label_is_shared_out_among_its_leaves() -> None:
    pieces: Pieces = {"any": ["a", "b", "c", "d"], "a": ["a"], None: [None]}
    both = Both(["a", "a", "b", None], ["any", "any", "a", None], pieces)
    # expected: a .375, b, c and d .125 each, NULL .25
    assert distance(both) == pytest.approx((0.125 + 0.125 + 0.125 + 0.125) / 2)


def test_a_label_that_nothing_explains_is_a_missing_value() -> None:
    assert distance(Both(["a", "a"], ["a", "?"], {"a": ["a"]})) == pytest.approx(0.5)
    number = Both([1, 2], ["1", "?"], {"1": [(1, 1)]}, number=True)
    assert distance(number) == pytest.approx(0.5 * 0.5 + 0.5)


@pytest.mark.parametrize(
    ("source", "released", "expected"),
    [
        ([0, 10, None, None], [0, 10], 0.5),  # half is missing, the others are where they were
        ([0, 10], [None, None], 1),
        ([None, None], [None], 0),
        ([None, None], [1], 1),
        ([0, 10], [5, None], 0.5 * 0.5 + 0.5),
        ([7, 7], [7, 7, 7], 0),  # a column of one value
        ([7, 7], [7, 8], 1),
        ([0, 1], [100], 1),  # farther than the range
    ],
)
@pytest.mark.parametrize("whole", [True, False])
def test_missing_and_constant_numbers(
    source: list[Any], released: list[Any], expected: float, whole: bool
) -> None:
    found = distance(Both(source, released, number=True, whole=whole))
    assert found == pytest.approx(expected, abs=1e-12)


def test_records_count_by_their_weight() -> None:
    assert distance(Both(["a", "b"], ["a", "b", "b"], weights=[1, 0.5, 0.5])) == 0
    numbers = Both([0, 0, 4], [0, 4, 4], number=True, weights=[1, 0.25, 0.25])
    assert distance(numbers) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("weights", [[], [0.0, 0.0]])
def test_of_nothing_everything_is_gone(weights: list[float]) -> None:
    released = ["a"] * len(weights)
    with compared(x=Both(["a", "b"], released, weights=weights)) as (session, sides):
        assert distribution(session, sides) == {"x": 1.0}
