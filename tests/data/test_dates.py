"""Calendar levels, against Python's own calendar."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.data.dates import Calendar, build, labelled, of_values
from dbdeid.errors import HierarchyError

DAYS = st.lists(st.dates(date(1, 1, 1), date(9998, 12, 31)), min_size=1, max_size=10, unique=True)
LABELS = {
    "week": lambda d: f"{d.isocalendar()[0]:04}-W{d.isocalendar()[1]:02}",
    "month": lambda d: f"{d.year:04}-{d.month:02}",
    "quarter": lambda d: f"{d.year:04}-Q{(d.month + 2) // 3}",
    "year": lambda d: f"{d.year:04}",
    "decade": lambda d: f"{d.year // 10 * 10:04}s",
}


@settings(deadline=None, max_examples=examples(50))
@given(DAYS, st.sampled_from(sorted(LABELS)))
def test_labels_and_bounds_hold_exactly_the_days_of_a_unit(days: list[date], unit: str) -> None:
    level = build("c", [d.isoformat() for d in days], Calendar((unit,)), timed=False).levels[1]
    name = LABELS[unit]
    for day, group in zip(days, level.groups, strict=True):
        assert level.labels[group] == name(day)
        lower, upper = (date.fromisoformat(x) for x in (level.lower[group], level.upper[group]))
        assert lower <= day <= upper
        assert name(lower) == name(upper) == name(day)
        assert lower == date.min or name(lower - timedelta(1)) != name(day)
        assert upper >= date(9998, 12, 31) or name(upper + timedelta(1)) != name(day)


@settings(deadline=None, max_examples=examples(50))
@given(DAYS)
def test_units_nest_and_loss_grows(days: list[date]) -> None:
    units = ("month", "quarter", "year", "decade")
    hierarchy = build("c", [d.isoformat() for d in days], Calendar(units), timed=False)
    assert hierarchy.height == len(units) + 1
    for finer, coarser in zip(hierarchy.levels, hierarchy.levels[1:], strict=False):
        assert len(set(zip(finer.groups, coarser.groups, strict=True))) == len(finer.labels)
        assert (finer.loss[finer.groups] <= coarser.loss[coarser.groups]).all()


def test_leap_years_and_loss_in_days() -> None:
    values = ["2020-02-29", "2021-02-28"]
    level = build("c", values, Calendar(("month", "year")), timed=False).levels[1]
    assert level.upper == ("2020-02-29", "2021-02-28")
    days = 366 + 365
    assert level.loss.tolist() == [28 / (days - 1), 27 / (days - 1)]


def test_timestamps_are_continuous() -> None:
    values = ["2019-01-31 23:59:59.999999", "2019-02-01 00:00:00", "2019-02-01 10:00:00.5"]
    level = build("c", values, Calendar(("month", "year")), timed=True).levels[1]
    assert level.labels == ("2019-01", "2019-02")
    assert level.upper == ("2019-02-01 00:00:00", "2019-03-01 00:00:00")
    assert level.loss.tolist() == [31 / 365, 28 / 365]
    for value, group in zip(values, level.groups, strict=True):
        assert datetime.fromisoformat(level.lower[group]) <= datetime.fromisoformat(value)


def test_limits_cut_and_leave_ends_open() -> None:
    calendar = Calendar(("year",), date(2019, 3, 1), date(2021, 3, 1))
    values = ["2019-02-28", "2019-03-01", "2021-02-28", "2021-03-01"]
    level = build("c", values, calendar, timed=False).levels[1]
    assert level.labels == ("< 2019-03-01", "2019", "2021", ">= 2021-03-01")
    assert level.lower == (None, "2019-03-01", "2021-01-01", "2021-03-01")
    assert level.upper == ("2019-02-28", "2019-12-31", "2021-02-28", None)
    assert level.loss[0] == level.loss[3] == 1


def test_first_year() -> None:
    for unit in LABELS:
        level = build("c", ["0001-01-01"], Calendar((unit,)), timed=False).levels[1]
        assert level.lower == ("0001-01-01",)


@pytest.mark.parametrize("unit", sorted(LABELS))
@pytest.mark.parametrize("value", ["9999-12-31", "infinity", "0044-03-15 (BC)", "10000-01-01", "x"])
def test_what_no_calendar_holds(unit: str, value: str) -> None:
    with pytest.raises(HierarchyError, match="years 1 to 9998") as refused:
        build("c", ["2019-01-01", value], Calendar((unit,)), timed=False)
    assert value not in str(refused.value).splitlines()[0]


@settings(deadline=None, max_examples=examples(100))
@given(
    DAYS,
    st.sampled_from([("week",), ("month", "quarter", "year"), ("quarter", "decade")]),
    st.none() | st.dates(date(1, 1, 1), date(1999, 12, 31)),
    st.none() | st.dates(date(2000, 1, 1), date(9998, 12, 31)),
    st.booleans(),
)
def test_a_label_is_found_again(
    days: list[date], units: tuple[str, ...], lower: date | None, upper: date | None, timed: bool
) -> None:
    calendar = Calendar(units, lower, upper)
    hierarchy = build("c", [d.isoformat() for d in days], calendar, timed=timed)
    for number, level in enumerate(hierarchy.levels[1:-1], start=1):
        for label, low, high in zip(level.labels, level.lower, level.upper, strict=True):
            found = labelled(label, calendar)
            assert found is not None
            assert found[0] <= number
            assert of_values(found[1], timed=timed) == (low, high)


def test_a_label_of_another_calendar_is_none() -> None:
    calendar = Calendar(("quarter", "year"), date(2019, 3, 1), date(2021, 3, 1))
    for label in ("2019-05", "2019-Q5", "2018", "2022-Q1", "9999", "0000", "< 2019-03-02", "2010s"):
        assert labelled(label, calendar) is None
