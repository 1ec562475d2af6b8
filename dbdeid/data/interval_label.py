"""Labels of intervals that others wrote: `[20, 30)`, `20-29`, `>= 90`.

A label is read only where its column is declared to have such labels, and only in the forms below;
anything else is no interval. A, B are numbers, or dates as 2019-12-31 with a time or without.

| Label | Stands for |
|---|---|
| `[A, B)`, `[A, B[` | A <= x < B |
| `[A, B]` | A <= x <= B |
| `(A, B]`, `]A, B]` | A < x <= B |
| `(A, B)`, `]A, B[` | A < x < B |
| `A-B`, `A to B`, `A..B` | A <= x <= B; between dates the hyphen has blanks around it |
| `< A`, `<= A`, `> A`, `>= A`, `A+` | everything on that side; A belongs to `A+` |
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction

from dbdeid.data.intervals import decimal, fractional
from dbdeid.engine.relation import Column

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?"
_DATE = r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?"
_END = rf"(?:{_DATE}|{_NUMBER})"
_FORMS = tuple(
    re.compile(rf"\s*{form}\s*", re.ASCII)
    for form in (
        rf"(?P<open>[\[\](])\s*(?P<a>{_END})\s*[,;]\s*(?P<b>{_END})\s*(?P<close>[\])\[])",
        rf"(?P<a>{_DATE})(?:\s+(?:-|–|to)\s+|\s*\.\.\s*)(?P<b>{_DATE})",
        rf"(?P<a>{_NUMBER})(?:\s*(?:-|–|\.\.)\s*|\s+to\s+)(?P<b>{_NUMBER})",
        rf"(?P<sign><=|<|≤|>=|>|≥)\s*(?P<c>{_END})",
        rf"(?P<c>{_END})(?P<sign>\+)",
    )
)


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval as its label writes it.

    Attributes:
        lower: where it begins, as text; None: it has no end there.
        upper: where it ends; None: it has no end there.
        with_lower: whether its lower end belongs to it.
        with_upper: whether its upper end does.
    """

    lower: str | None
    upper: str | None
    with_lower: bool
    with_upper: bool


def read(label: str) -> Interval | None:
    """The interval that a label writes; None where it writes none.

    >>> read("20-29"), read("]5;10]").with_lower, read("young")
    (Interval(lower='20', upper='29', with_lower=True, with_upper=True), False, None)
    """
    for form in _FORMS:
        if found := form.fullmatch(label):
            parts = found.groupdict()
            if "sign" in parts:
                return _one_sided(parts["sign"], parts["c"])
            with_lower = parts.get("open", "[") == "["
            return Interval(parts["a"], parts["b"], with_lower, parts.get("close", "]") == "]")
    return None


def _one_sided(sign: str, end: str) -> Interval:
    if sign[0] in "<≤":
        return Interval(None, end, with_lower=True, with_upper=sign != "<")
    return Interval(end, None, with_lower=sign != ">", with_upper=True)


def bounds(interval: Interval, column: Column) -> tuple[str | None, str | None] | None:
    """The bounds of an interval as a dictionary writes them for values of a column's type.

    Those of whole numbers and days are the smallest and the largest value inside; for others the
    upper one is the first value past the interval.

    Returns:
        None where no value of the column can be inside, or its ends are of another type.
    """
    ends = _ENDS.get(column.family)
    if ends is None:
        return None
    try:
        lower = None if interval.lower is None else ends.first(interval, column)
        upper = None if interval.upper is None else ends.past(interval, column)
    except (ValueError, OverflowError):
        return None
    if lower is not None and upper is not None and not lower < upper:
        return None
    low = None if lower is None else ends.write(lower)
    return low, None if upper is None else ends.write(upper - ends.step)


def of_limits(
    lower: Fraction | date | None, upper: Fraction | date | None, column: Column
) -> tuple[str | None, str | None] | None:
    """Return the bounds of the interval between declared limits, `upper` excluded; as `bounds`."""
    low, high = (
        None if e is None else e.isoformat() if isinstance(e, date) else decimal(e)
        for e in (lower, upper)
    )
    return bounds(Interval(low, high, with_lower=True, with_upper=False), column)


class _Ends:
    """How the ends of an interval become bounds: here of whole numbers.

    Attributes:
        step: what lies between the first value past an interval and its upper bound.
    """

    step = Fraction(1)

    def first(self, interval: Interval, column: Column) -> Fraction:
        """The first value inside."""
        return self._after(str(interval.lower), column, inside=interval.with_lower)

    def past(self, interval: Interval, column: Column) -> Fraction:
        """The first value past it."""
        return self._after(str(interval.upper), column, inside=not interval.with_upper)

    def _after(self, text: str, column: Column, *, inside: bool) -> Fraction:
        """The first value from an end on, which counts itself or not."""
        number = self._next(Fraction(text), column)
        same = number == Fraction(text)
        return number if inside or not same else self._next(number + self._unit(column), column)

    def _next(self, number: Fraction, column: Column) -> Fraction:
        unit = self._unit(column)
        return math.ceil(number / unit) * unit

    def _unit(self, column: Column) -> Fraction:
        return Fraction(1)

    def write(self, number: Fraction) -> str:
        """A bound as text."""
        return decimal(number)


class _Decimals(_Ends):
    step = Fraction(0)

    def write(self, number: Fraction) -> str:
        return fractional(number)

    def _unit(self, column: Column) -> Fraction:
        digits = re.search(r",\s*(\d+)\)", column.type)
        return Fraction(1, 10 ** int(digits[1] if digits else 3))


class _Floats(_Ends):
    step = Fraction(0)

    def _after(self, text: str, column: Column, *, inside: bool) -> Fraction:
        number = float(text)
        return Fraction(number if inside else math.nextafter(number, math.inf))

    def write(self, number: Fraction) -> str:
        return repr(float(number))


class _Days(_Ends):
    def _after(self, text: str, column: Column, *, inside: bool) -> Fraction:
        return Fraction(date.fromisoformat(text).toordinal() + (not inside))

    def write(self, number: Fraction) -> str:
        return date.fromordinal(int(number)).isoformat()


_EPOCH, _MICROSECOND = datetime(1970, 1, 1), timedelta(microseconds=1)


class _Moments(_Ends):
    step = Fraction(0)

    def _after(self, text: str, column: Column, *, inside: bool) -> Fraction:
        # a day that belongs to an interval does with all its moments
        whole = timedelta(days=1) if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) else _MICROSECOND
        moment = datetime.fromisoformat(text) + (timedelta(0) if inside else whole)
        return Fraction((moment - _EPOCH) // _MICROSECOND)

    def write(self, number: Fraction) -> str:
        return (_EPOCH + int(number) * _MICROSECOND).isoformat(sep=" ")


_ENDS: dict[str, _Ends] = {
    "integer": _Ends(),
    "decimal": _Decimals(),
    "float": _Floats(),
    "date": _Days(),
    "timestamp": _Moments(),
}
