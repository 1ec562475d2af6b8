"""Levels of columns, and how labels are shared out among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from both_sides import Both, Pieces, compared
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdeid.utility.fidelity.levels import BINS, CATEGORIES, CodedSides, coded_sides, indicators


def levels(**columns: Both) -> CodedSides:
    with compared(**columns) as (session, sides):
        return coded_sides(session, sides)


def bins_of(values: list[float]) -> list[int]:
    return levels(x=Both(values, values, number=True)).source[:, 0].tolist()


def test_few_values_have_a_bin_each_and_many_a_tenth() -> None:
    assert bins_of([1, 2, 3, 3, 4]) == [0, 1, 2, 2, 3]
    counts = np.bincount(bins_of([float(i) for i in range(1000)]))
    assert counts.tolist() == [100] * BINS


@pytest.mark.parametrize("crowded", [0, 99])
def test_a_crowded_value_is_alone_whether_it_is_the_least_or_the_greatest(crowded: int) -> None:
    found = bins_of([*[crowded] * 900, *range(1, 99)])
    own = {b for b, v in zip(found, sorted([*[crowded] * 900, *range(1, 99)]), strict=True)
           if v == crowded}  # fmt: skip
    assert len(own) == 1
    assert found.count(*own) == 900


@settings(max_examples=10, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(-50, 50)), min_size=1, max_size=60))
def test_bins_follow_the_order_of_numbers(values: list[int | None]) -> None:
    found = levels(x=Both(values, values, number=True))
    size, ordered = found.sizes[0], sorted(v for v in values if v is not None)
    binned = [b for b in found.source[:, 0].tolist() if b != size - 1]
    assert binned == sorted(binned)
    assert len(binned) == len(ordered)
    assert size - 2 <= BINS
    assert set(binned) == set(range(size - 2))  # none is empty


def test_the_most_frequent_categories_come_first_and_others_share_a_level() -> None:
    names = [f"n{i:03}" for i in range(CATEGORIES + 10) for _ in range(CATEGORIES + 12 - i)]
    found = levels(x=Both([*names, None], ["n000", "n059", "unheard of", None]))
    other, missing = CATEGORIES, CATEGORIES + 1
    assert found.sizes == (CATEGORIES + 2,)
    assert sorted(found.labels[:, 0].tolist()) == [0, other, other, missing]
    counts = np.bincount(found.source[:, 0])
    assert counts[:other].tolist() == list(range(CATEGORIES + 12, 12, -1))
    assert counts[other] == sum(range(3, 13))
    assert counts[missing] == 1


def shares(both: Both) -> dict[Any, list[float]]:
    """What each released label is shared out to, where each occurs once."""
    found = levels(x=both)
    rows = found.spreads[0][found.labels[:, 0]]
    # labels are in their order, those that nothing explains behind them
    ordered = sorted(both.released, key=lambda label: (label not in (both.pieces or ()), label))
    return dict(zip(ordered, rows.tolist(), strict=True))


def test_intervals_are_shared_out_by_their_length() -> None:
    # ten bins of one value each; whole numbers reach to the next
    pieces: Pieces = {"a": [(0, 4)], "b": [(8, 12)], "c": [(-3, 1)], "d": [(3, 3), (5, 5)]}
    found = shares(Both([*range(10)], ["a", "b", "c", "d"], pieces, number=True, whole=True))
    quarter, half = [0.25] * 4 + [0.0] * 8, [0.0] * 12
    assert found["a"] == quarter
    assert found["b"] == [*[0.0] * 8, 0.25, 0.75, 0.0, 0.0]  # beyond the last bin is in it
    assert found["c"] == [1.0, *[0.0] * 11]
    half[3] = half[5] = 0.5
    assert found["d"] == half


def test_labels_are_shared_out_among_levels() -> None:
    pieces: Pieces = {"ab": ["a", "b"], "any": ["a", "b", "c", "new"], "none": [None]}
    both = Both(["a", "a", "a", "b", "b", "c", None], ["ab", "any", "none", "?"], pieces)
    assert shares(both) == {
        "ab": [0.5, 0.5, 0, 0, 0],
        "any": [0.25, 0.25, 0.25, 0.25, 0],
        "none": [0, 0, 0, 0, 1],
        "?": [0, 0, 0, 0, 1],
    }


def test_a_column_without_values_has_two_levels() -> None:
    found = levels(x=Both([None], [None, 3], number=True), y=Both([None], ["a", None]))
    assert found.sizes == (2, 2)
    assert sorted(found.labels[:, 0].tolist()) == sorted(found.labels[:, 1].tolist()) == [0, 1]


def test_draws_follow_the_shares_and_the_weights() -> None:
    pieces: Pieces = {"ab": ["a", "a", "a", "b"]}
    released, weights = ["ab"] * 8000, [1.0, 0.25] * 4000
    found = levels(x=Both(["a", "a", "b"], released, pieces, weights=weights))
    drawn = found.drawn(np.random.default_rng(1), 10_000)
    assert len(drawn) == pytest.approx(5000, abs=150)
    assert np.bincount(drawn[:, 0], minlength=4)[2:].tolist() == [0, 0]
    assert (drawn == 0).mean() == pytest.approx(0.75, abs=0.03)
    again = found.drawn(np.random.default_rng(1), 10_000)
    assert (drawn == again).all()
    few = found.drawn(np.random.default_rng(1), 100)
    assert len(few) == 100
    assert (found.labels >= 0).all()  # none of them was drawn upon itself


def test_a_sample_is_of_different_records() -> None:
    values = [float(i) for i in range(500)]
    found = levels(x=Both(values, [], number=True), y=Both([*map(str, values)], []))
    rng = np.random.default_rng(2)
    assert len(found.sampled(rng, 200)) == 200
    assert (found.sampled(rng, 500) == found.source).all()


def test_indicators_are_one_at_each_level() -> None:
    found = indicators(np.array([[0, 2], [1, 0]]), (2, 3)).toarray()
    assert found.tolist() == [[1, 0, 0, 0, 1], [0, 1, 1, 0, 0]]


def test_the_order_of_rows_does_not_matter() -> None:
    source, released = ["b", "a", None, "b"], ["a", "b", "b"]
    numbers = [4.0, None, 2.0, 1.0]
    one = levels(x=Both(source, released), y=Both(numbers, numbers[:3], number=True))
    other = levels(
        x=Both(source[::-1], released[::-1]), y=Both(numbers[::-1], numbers[2::-1], number=True)
    )
    assert (one.source == other.source).all()
    assert (one.labels == other.labels).all()
