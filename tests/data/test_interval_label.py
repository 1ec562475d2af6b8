"""Labels of intervals that others wrote, against a brute force over their values."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from fractions import Fraction as F
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.data.interval_label import Interval, bounds, read
from dbdeid.engine.relation import Column

# Each form: how it is written, and whether its ends belong to it.
TWO_SIDED = {
    "[{}, {})": (True, False),
    "[{};{}[": (True, False),
    "[{},{}]": (True, True),
    "({}, {}]": (False, True),
    "]{}, {}]": (False, True),
    "({}, {})": (False, False),
    "]{},{}[": (False, False),
    " [ {} , {} ) ": (True, False),
    "{} - {}": (True, True),
    "{} to {}": (True, True),
    "{}..{}": (True, True),
    "{} – {}": (True, True),
}
ONE_SIDED = {
    "< {}": (None, False),
    "<={}": (None, True),
    "≤ {}": (None, True),
    "> {}": (False, None),
    ">= {}": (True, None),
    "≥{}": (True, None),
    "{}+": (True, None),
}


@pytest.mark.parametrize("form", TWO_SIDED)
@pytest.mark.parametrize(("a", "b"), [("20", "30"), ("-3.5", "+2e1"), ("2019-01-31", "2020-02-29")])
def test_forms_with_two_ends(form: str, a: str, b: str) -> None:
    with_lower, with_upper = TWO_SIDED[form]
    assert read(form.format(a, b)) == Interval(a, b, with_lower, with_upper)


@pytest.mark.parametrize("form", ONE_SIDED)
@pytest.mark.parametrize("end", ["90", "-0.5", "2019-01-31 10:30"])
def test_forms_with_one_end(form: str, end: str) -> None:
    below, above = ONE_SIDED[form]
    found = read(form.format(end))
    assert found is not None
    if below is None:
        assert (found.lower, found.upper, found.with_upper) == (None, end, above)
    else:
        assert (found.lower, found.upper, found.with_lower) == (end, None, below)


def test_a_hyphen_without_blanks_between_numbers_may_meet_a_minus() -> None:
    assert read("20-29") == Interval("20", "29", True, True)
    assert read("-5--1") == Interval("-5", "-1", True, True)


@pytest.mark.parametrize(
    "label",
    ["", "*", "20", "young", "20-", "[20, 30", "20, 30)", "[20 30)", "[a, b)", "20-29-30", "<", "+",
     "[20, 30) or so", "2019-01-01", "2019-01-01-2019-12-31", "[,20)", "1,000-2,000", "[٢٠, 30) "],
)  # fmt: skip
def test_anything_else_is_no_interval(label: str) -> None:
    assert read(label) is None


def inside(value: Any, low: Any, high: Any, ends: tuple[bool | None, bool | None]) -> bool:
    above = low is None or value > low or (value == low and bool(ends[0]))
    below = high is None or value < high or (value == high and bool(ends[1]))
    return bool(above and below)


TENTHS = st.integers(-200, 200).map(lambda n: F(n, 10))


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(sorted(TWO_SIDED)), TENTHS, TENTHS)
def test_bounds_of_whole_numbers_are_the_values_inside(form: str, a: F, b: F) -> None:
    found = read(form.format(float(a), float(b)))
    assert found is not None
    values = [n for n in range(-30, 31) if inside(n, a, b, TWO_SIDED[form])]
    wanted = (str(values[0]), str(values[-1])) if values else None
    assert bounds(found, Column("x", "INTEGER")) == wanted


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(sorted(TWO_SIDED)), TENTHS, TENTHS)
def test_bounds_of_decimals_end_where_the_next_begins(form: str, a: F, b: F) -> None:
    found = read(form.format(float(a), float(b)))
    assert found is not None
    steps = [F(n, 10) for n in range(-210, 211)]
    values = [n for n in steps if inside(n, a, b, TWO_SIDED[form])]
    told = bounds(found, Column("x", "DECIMAL(4,1)"))
    if not values:
        assert told is None
    else:
        assert told is not None
        assert [n for n in steps if F(told[0]) <= n < F(told[1])] == values


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(sorted(TWO_SIDED)), TENTHS, TENTHS)
def test_bounds_of_floats_hold_their_ends(form: str, a: F, b: F) -> None:
    found = read(form.format(float(a), float(b)))
    assert found is not None
    ends = [float(a), float(b)]
    near = [x for e in ends for x in (math.nextafter(e, -1e9), e, math.nextafter(e, 1e9))]
    values = [x for x in near if inside(x, *ends, TWO_SIDED[form])]
    told = bounds(found, Column("x", "DOUBLE"))
    held = [x for x in near if told and float(told[0]) <= x < float(told[1])]
    assert held == values


@settings(max_examples=examples(200), deadline=None)
@given(
    st.sampled_from(["[{}, {})", "[{},{}]", "]{}, {}]", "({}, {})", "{} - {}"]),
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_bounds_of_days_and_moments(form: str, a: int, b: int) -> None:
    start = date(2020, 2, 25)
    low, high = start + timedelta(a), start + timedelta(b)
    found = read(form.format(low, high))
    assert found is not None
    days = [start + timedelta(n) for n in range(-2, 13)]
    values = [day for day in days if inside(day, low, high, TWO_SIDED[form])]
    wanted = (str(values[0]), str(values[-1])) if values else None
    assert bounds(found, Column("x", "DATE")) == wanted
    told = bounds(found, Column("x", "TIMESTAMP"))
    noons = [datetime(d.year, d.month, d.day, 12) for d in days]
    held = [
        moment.date()
        for moment in noons
        if told and datetime.fromisoformat(told[0]) <= moment < datetime.fromisoformat(told[1])
    ]
    assert held == values  # a day belongs with all its moments, or with none


def test_one_end_is_no_bound() -> None:
    whole = Column("x", "BIGINT")
    assert [bounds(read(label), whole) for label in (">= 90", "> 90", "< 5", "<= 5", "5+")] == [  # type: ignore[arg-type]
        ("90", None), ("91", None), (None, "4"), (None, "5"), ("5", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("[2019-01-01, 2020-01-01)", "INTEGER"),
        ("[2019, 2020)", "DATE"),
        ("[2019-02-30, 2020-01-01)", "DATE"),
        ("[2019-01-01 10:00, 2020-01-01)", "DATE"),
        ("[1, 2)", "VARCHAR"),
        ("[1, 2)", "BOOLEAN"),
        ("[1, 1e999)", "DOUBLE"),
        ("9999-12-30 - 9999-12-31", "TIMESTAMP"),
    ],
)
def test_ends_of_another_type(label: str, kind: str) -> None:
    found = read(label)
    assert found is not None
    assert bounds(found, Column("x", kind)) is None
