"""A column before and after, in few rows: shares by hand, and their sums for any."""

from __future__ import annotations

from typing import Any

import pytest
from both_sides import Both, compared
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.utility.fidelity.side_by_side import (
    FEW,
    MISSING,
    MOST_BINS,
    MOST_VALUES,
    NOT_RELEASED,
    Row,
    _range,
    side_by_side,
)


def drawn(both: Both, family: str = "integer") -> list[tuple[str, float, float]]:
    with compared(x=both) as (session, sides):
        (column,) = side_by_side(session, sides, {"x": family})
    assert column.column == "x"
    return [
        (row.label, pytest.approx(row.source), pytest.approx(row.released)) for row in column.rows
    ]


def test_categories_come_most_frequent_first_and_labels_are_spread() -> None:
    both = Both(  # "a" is released as it is, and as "*"
        ["a", "a", "a", "b", "c", None] * FEW,
        ["a", "*", "*", "*", None, None] * FEW,
        {"*": ["a", "b"], "a": ["a"]},
    )
    assert {label: shares for label, *shares in drawn(both)} == {
        "a": [3 / 6, 2.5 / 6],
        MISSING: [1 / 6, 2 / 6],
        "b": [1 / 6, 1.5 / 6],
        "c": [1 / 6, 0],
    }
    assert drawn(both)[0][0] == "a"


def test_values_of_few_records_are_never_told() -> None:
    rows = drawn(Both(["a"] * FEW + ["b"] * (FEW - 1) + ["c", None], ["a", "b", "d"]))
    assert [row[0] for row in rows] == ["a", MISSING, "3 others"]
    low, high = 1234.5678, 9876.5432
    labels = [row[0] for row in drawn(Both([low, high], [low], None, True, False), "float")]
    assert not {f"{low:g}", f"{high:g}"} & {end for label in labels for end in label.split(" to ")}
    assert labels[0] == "1000 to 1500"


def test_rare_categories_are_pooled() -> None:
    values = [chr(97 + place) for place in range(20) for _ in range(FEW + 20 - place)]
    rows = drawn(Both(values, values))
    assert len(rows) == MOST_VALUES + 1
    assert rows[-1][0] == f"{20 - MOST_VALUES} others"
    assert rows[-1][1] == sum(FEW + n for n in range(1, 20 - MOST_VALUES + 1)) / len(values)


def test_labels_that_share_no_value_are_the_rows_in_their_order() -> None:
    pieces = {"<18": [(0, 18)], "[18, 65)": [(18, 65)], ">=65": [(65, 120)], None: [(None, None)]}
    both = Both([3, 17, 18, 64, 64, 65, 130, None], ["<18", ">=65", None], pieces, True, True)
    assert drawn(both) == [
        ("<18", 2 / 8, 1 / 3),
        (">=65", 1 / 8, 1 / 3),
        (MISSING, 1 / 8, 1 / 3),
        (NOT_RELEASED, 4 / 8, 0),
    ]
    ends = Both([0.5, 1.0, 2.0], ["one", "more"], {"one": [(0.5, 0.5)], "more": [(1.0, 2.0)]}, True)
    assert drawn(ends, "float") == [
        ("one", 1 / 3, 1 / 2),
        ("more", 1 / 3, 1 / 2),
        (NOT_RELEASED, 1 / 3, 0),
    ]
    groups = {"vowel": ["a", "e"], "other": ["b", "c"], "rare": ["x"]}
    both = Both(["a", "e", "e", "b"] * FEW + ["x", "y"], ["vowel", "other", "rare"], groups)
    assert drawn(both) == [
        ("vowel", 3 * FEW / (4 * FEW + 2), 1 / 3),
        ("other", FEW / (4 * FEW + 2), 1 / 3),
        ("1 other", 1 / (4 * FEW + 2), 1 / 3),
        (NOT_RELEASED, 1 / (4 * FEW + 2), 0),
    ]


def test_whole_numbers_fall_into_bins_of_whole_width_and_intervals_are_spread() -> None:
    both = Both(  # a third label, of weight 0, shares values with both
        [0, 1, 2, 59],
        ["low", "low", "high", "high", "any"],
        {"low": [(0, 6)], "high": [(57, 60)], "any": [(0, 60)]},
        True,
        True,
        (1, 1, 1, 1, 0),
    )
    rows = drawn(both)
    assert len(rows) == 12
    assert rows[0] == ("0 to 4", 3 / 4, 5 / 12)
    assert rows[1] == ("5 to 9", 0, 1 / 12)
    assert rows[-1] == ("55 to 59", 1 / 4, 1 / 2)
    assert drawn(Both([7, 7], [7, 7], None, True, True)) == [("7", 1, 1)]


def test_ends_of_bins_have_no_more_digits_than_can_be_read() -> None:
    values = [118.5, 118.8, 119.1]
    labels = [row[0] for row in drawn(Both(values, values, None, True, False), "float")]
    ends = [float(end) for label in labels for end in label.split(" to ")]
    assert any(end != int(end) for end in ends)
    assert all(len(end) <= 5 for label in labels for end in label.split(" to "))
    assert 11 * 10.8 != 118.8  # but 118.80000000000001
    assert _range(11 * 10.8, 12 * 10.8, False, "float") == "118.8 to 129.6"


def test_dates_are_told_as_dates() -> None:
    rows = drawn(Both([0, 1, 365], [0, 1, 365], None, True, True), "date")
    assert rows[0][0] == "1970-01-01 to 1970-01-20"
    assert sum(row[1].expected for row in rows) == pytest.approx(1)


def test_what_lies_beyond_the_source_counts_with_the_last_bin() -> None:
    pieces = {"far": [(-10.0, 10.0)], "near": [(0.0, 1.0)]}
    both = Both([0.0, 1.0], ["far", "near"], pieces, True, False, (1, 0))
    rows = drawn(both, "float")
    assert rows[0][2] == pytest.approx((10 + 1 / MOST_BINS) / 20)
    assert rows[-1][2] == pytest.approx((9 + 1 / MOST_BINS) / 20)


numbers = st.lists(st.none() | st.integers(-50, 50), min_size=1, max_size=30)


@pytest.mark.full
@settings(max_examples=examples(40), deadline=None)
@given(source=numbers, released=numbers, data=st.data())
def test_shares_of_each_side_are_one_together(
    source: list[Any], released: list[Any], data: st.DataObject
) -> None:
    measured = data.draw(st.booleans())
    if not measured:
        source, released = ([None if v is None else str(v) for v in x] for x in (source, released))
    if measured and all(v is None for v in source):
        source = [1]
    with compared(x=Both(source, released, None, measured, measured)) as (session, sides):
        (column,) = side_by_side(session, sides, {"x": "integer"})
    assert sum(row.source for row in column.rows) == pytest.approx(1)
    assert sum(row.released for row in column.rows) == pytest.approx(1)
    assert all(isinstance(row, Row) and min(row.source, row.released) >= 0 for row in column.rows)
