"""Date hierarchies: weeks, months, quarters, years, decades of DATE and TIMESTAMP columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction

import numpy as np

from dbdeid.data.hierarchy import Hierarchy, Level, top_level
from dbdeid.data.intervals import Cell, level_of, within
from dbdeid.errors import HierarchyError

# Each unit nests in every later one, except that weeks nest in none.
UNITS = ("week", "month", "quarter", "year", "decade")


@dataclass(frozen=True, slots=True)
class Calendar:
    """Units of the levels and how far the domain reaches (`lower` inside, `upper` outside)."""

    units: tuple[str, ...]
    lower: date | None = None
    upper: date | None = None


def build(column: str, values: Sequence[str], calendar: Calendar, *, timed: bool) -> Hierarchy:
    """The hierarchy of the dates present under a calendar; loss as of intervals, in days.

    Args:
        column: the quasi-identifier.
        values: its distinct values as ISO text, without NULL.
        calendar: units and limits.
        timed: the values carry a time of day.

    Raises:
        HierarchyError: a value is not a date of the years 1 to 9998.
    """
    days = [_day(column, text) for text in values]
    texts = tuple(values)
    levels = [Level(np.arange(len(texts)), texts, np.zeros(len(texts)), texts, texts)]
    low, high = _range(days, calendar)
    write = _write_timestamp if timed else _write_date
    for unit in calendar.units:
        cells = _cells(days, unit, calendar)
        levels.append(level_of(cells, low, high, discrete=not timed, write=write))
    limits = [None if day is None else _number(day) for day in (calendar.lower, calendar.upper)]
    numbers = (_number(day) for day in days)
    inside = within(numbers, *limits, discrete=not timed, write=write)
    levels.append(top_level(len(texts), inside))
    kind = f"dates by {', '.join(calendar.units)}"
    return Hierarchy(column, kind, texts, tuple(levels), declared=False)


def labelled(label: str, calendar: Calendar) -> tuple[int, Cell] | None:
    """The lowest level that has a label, and its days as ordinals; None where no level has it.

    >>> labelled("2019-Q3", Calendar(("month", "quarter")))[0]
    2
    """
    for level, unit in enumerate(calendar.units, start=1):
        for day in _days_of(label, calendar):
            cell = _cell(day, unit, calendar)
            if cell.label == label:
                return level, cell
    return None


def of_values(cell: Cell, *, timed: bool) -> tuple[str | None, str | None]:
    """The bounds of the values of a bucket as text; of days they are inside it."""
    write = _write_timestamp if timed else _write_date
    level = level_of([cell], Fraction(0), Fraction(0), discrete=not timed, write=write)
    return level.lower[0], level.upper[0]


def _days_of(label: str, calendar: Calendar) -> Iterator[date]:
    """Days that a label may be of: the first of a bucket, or the first within the limits."""
    lower, upper = calendar.lower, calendar.upper
    if lower is not None and lower > date.min and label.startswith("<"):
        yield lower - timedelta(days=1)
    if upper is not None and label.startswith(">="):
        yield upper
    for pattern, first in _LABELS.items():
        if found := re.fullmatch(pattern, label):
            try:
                day = first(*map(int, found.groups()))
            except ValueError:
                continue
            if day.year < date.max.year:
                yield day if lower is None else max(day, lower)


def _day(column: str, text: str) -> date:
    try:
        day = datetime.fromisoformat(text).date()
    except ValueError:
        day = date.max
    if day.year == date.max.year:  # its week, month and year end where no date can be written
        raise HierarchyError(
            f"column {column!r}: a value is not a date of the years 1 to 9998",
            hint="make infinite dates and placeholders such as 9999-12-31 NULL in the source",
        )
    return day


def _range(days: Sequence[date], calendar: Calendar) -> tuple[Fraction, Fraction]:
    widest = _BUCKETS[calendar.units[-1]]
    inside = [
        day
        for day in days
        if (calendar.lower is None or day >= calendar.lower)
        and (calendar.upper is None or day < calendar.upper)
    ] or [calendar.lower or date(2000, 1, 1)]
    first = calendar.lower or widest(min(inside))[0]
    last = calendar.upper or widest(max(inside))[1]
    return _number(first), _number(last)


def _cells(days: Sequence[date], unit: str, calendar: Calendar) -> list[Cell]:
    """The bucket of each day; days that follow each other are mostly in one, made once."""
    found: list[Cell] = []
    start, end = date.max, date.min  # of the last bucket: none yet
    for day in days:
        if not start <= day < end:
            cell = _cell(day, unit, calendar)
            start = date.min if cell.start is None else date.fromordinal(int(cell.start))
            end = date.max if cell.end is None else date.fromordinal(int(cell.end))
        found.append(cell)
    return found


def _cell(day: date, unit: str, calendar: Calendar) -> Cell:
    if calendar.lower is not None and day < calendar.lower:
        return Cell(f"< {calendar.lower}", None, _number(calendar.lower))
    if calendar.upper is not None and day >= calendar.upper:
        return Cell(f">= {calendar.upper}", _number(calendar.upper), None)
    start, end, label = _BUCKETS[unit](day)
    start = max(start, calendar.lower) if calendar.lower else start
    end = min(end, calendar.upper) if calendar.upper else end
    return Cell(label, _number(start), _number(end))


Bucket = tuple[date, date, str]


def _week(day: date) -> Bucket:
    start = day - timedelta(days=day.weekday())
    year, week, _ = day.isocalendar()
    return start, start + timedelta(days=7), f"{year:04}-W{week:02}"


def _month(day: date) -> Bucket:
    start = day.replace(day=1)
    return start, _later(start, 1), f"{day.year:04}-{day.month:02}"


def _quarter(day: date) -> Bucket:
    quarter = (day.month - 1) // 3
    start = date(day.year, quarter * 3 + 1, 1)
    return start, _later(start, 3), f"{day.year:04}-Q{quarter + 1}"


def _year(day: date) -> Bucket:
    return date(day.year, 1, 1), date(day.year + 1, 1, 1), f"{day.year:04}"


def _decade(day: date) -> Bucket:
    start = day.year // 10 * 10
    return date(max(start, 1), 1, 1), date(min(start + 10, 9999), 1, 1), f"{start:04}s"


def _later(start: date, months: int) -> date:
    month = start.month - 1 + months
    return date(start.year + month // 12, month % 12 + 1, 1)


_BUCKETS: dict[str, Callable[[date], Bucket]] = {
    "week": _week,
    "month": _month,
    "quarter": _quarter,
    "year": _year,
    "decade": _decade,
}


# The first day of what reads so.
_LABELS: dict[str, Callable[..., date]] = {
    r"(\d{4})-W(\d{2})": lambda year, week: date.fromisocalendar(year, week, 1),
    r"(\d{4})-(\d{2})": lambda year, month: date(year, month, 1),
    r"(\d{4})-Q([1-4])": lambda year, quarter: date(year, 3 * quarter - 2, 1),
    r"(\d{4})": lambda year: date(year, 1, 1),
    r"(\d{4})s": lambda year: date(max(year, 1), 1, 1),
}


def _number(day: date) -> Fraction:
    return Fraction(day.toordinal())


def _write_date(number: Fraction) -> str:
    return date.fromordinal(int(number)).isoformat()


def _write_timestamp(number: Fraction) -> str:
    return f"{date.fromordinal(int(number)).isoformat()} 00:00:00"
