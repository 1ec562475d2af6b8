"""Columns on a scale: where the constants of a query cut the range of a column.

Between two cuts every comparison of the column with the query's constants has one outcome, so one
representative and the size of the cell stand for all values in it. Where only the year, the day or
the hour of a moment matter, so do periods of the calendar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from math import floor, gcd
from typing import Literal

from sqlglot import exp

from dbdeid.engine.relation import Column
from dbdeid.query.parse.expressions import bare, constant

Cut = int | Decimal | date
Unit = Literal["hour", "day", "month"]
UNITS: tuple[Unit, ...] = ("hour", "day", "month")  # each in the next one, the finest first
Cutter = Callable[[exp.Expr], "tuple[Cut, ...] | None"]


@dataclass(frozen=True, slots=True)
class Scale:
    """How the values of a column are measured.

    Attributes:
        type: DuckDB type of the bounds and cuts.
        discrete: bounds are the smallest and largest member, whose single values can be listed;
            otherwise the upper bound is where the next interval begins.
        stepped: the first value of a cell stands for it; otherwise its middle does.
        cutter: where a constant cuts, or None when it is no constant of this scale.
        calendar: whether its values are moments, which have a day and an hour.
    """

    type: str
    discrete: bool
    stepped: bool
    cutter: Cutter
    calendar: bool = False


def scale_of(source: Column) -> Scale | None:
    """The scale of a column, by its source type."""
    kind = source.type.upper()
    if "TIME ZONE" in kind or kind == "TIMESTAMP_NS":  # it is finer than cells of microseconds
        return None
    return _SCALES.get(source.family)


@dataclass(frozen=True)
class Cuts:
    """What cuts a scale into cells on which the uses of a column are constant.

    Attributes:
        starts: where constants cut it, sorted.
        unit: of the calendar, whose periods are cells as well; None: there are none.
        step: of a histogram, whose multiples are cuts as well; None: there is none.
    """

    starts: tuple[Cut, ...] = ()
    unit: Unit | None = None
    step: int | None = None


def cuts(scale: Scale, uses: Sequence[exp.Expr]) -> Cuts | None:
    """Where the uses of a column cut its scale.

    Returns:
        None when the column is not only compared with constants, or taken by calendar, so that
        single values matter.
    """
    starts: set[Cut] = set()
    units: set[Unit] = set()
    steps: set[int] = set()
    for use in uses:
        for reference in exp.Paren(this=use.copy()).find_all(exp.Column):
            if scale.calendar and (unit := unit_of(reference)) is not None:
                units.add(unit)
                continue
            if not scale.stepped and (step := _step_of(reference)) is not None:
                steps.add(step)
                continue
            others = _compared(reference)
            if others is None:
                return None
            for other in others:
                if isinstance(other, exp.Null):
                    continue
                found = scale.cutter(other)
                if found is None:
                    return None
                starts.update(found)
    unit = min(units, key=UNITS.index) if units else None
    return Cuts(tuple(sorted(starts)), unit, gcd(*steps) if steps else None)


def _step_of(reference: exp.Column) -> int | None:
    """The number whose multiples cut a column that is only taken as FLOOR(column / number), or as
    FLOOR(column), which is that of 1."""
    node, quotient = _within(reference)
    if isinstance(quotient, exp.Floor) and quotient.this is node:
        return None if quotient.args.get("decimals") else 1
    if not isinstance(quotient, exp.Div) or quotient.this is not node:
        return None
    _, rounded = _within(quotient)
    step = constant(quotient.expression)
    if not isinstance(rounded, exp.Floor) or rounded.args.get("decimals") or step is None:
        return None
    return int(step) if step.is_integer() and 1 <= step <= _LARGEST else None


_COMPARISONS = (
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Between, exp.In, exp.Is),
)


def _compared(reference: exp.Column) -> list[exp.Expr] | None:
    """What a column is compared with; None when anything else is done with it."""
    node, parent = _within(reference)
    if not isinstance(parent, _COMPARISONS):
        return None
    return [bare(part) for part in parent.iter_expressions() if part is not node]


def _within(reference: exp.Expr) -> tuple[exp.Expr, exp.Expr | None]:
    """A node with the parentheses around it, and what is made of them."""
    node: exp.Expr = reference
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    return node, node.parent


# -- the calendar ------------------------------------------------------------------------------


def unit_of(reference: exp.Column) -> Unit | None:
    """The periods in which what is made of a moment is one; None where there are none."""
    _, made = _within(reference)
    if made is None:
        return None
    if type(made) is exp.Cast or isinstance(made, exp.TryCast):
        return "day" if made.to.this == exp.DType.DATE else None
    if isinstance(made, exp.TimeToStr):
        return _unit_of_format(made.args["format"])
    if isinstance(made, (exp.TimestampTrunc, exp.DateDiff)):
        return _PERIODS.get(made.text("unit").lower()) if made.args.get("unit") else None
    if isinstance(made, exp.Extract):
        return _PERIODS.get(made.this.name.lower())
    if isinstance(made, exp.Anonymous):
        part, *_ = made.expressions
        named = made.name.lower() in ("date_part", "datepart") and part.is_string
        return _PERIODS.get(part.name.lower() if named else made.name.lower())
    return _FUNCTIONS.get(type(made))


def _unit_of_format(text: exp.Expr) -> Unit | None:
    if not text.is_string:
        return None
    directives = set(re.findall(r"%-?(.)", text.name))
    if directives <= set("YymbB%"):
        return "month"
    if directives <= set("YymbBdjaAUWuwVG%"):
        return "day"
    return "hour" if directives <= set("YymbBdjaAUWuwVGHIp%") else None


_FUNCTIONS: dict[type[exp.Expr], Unit] = {
    **dict.fromkeys((exp.Year, exp.Quarter, exp.Month, exp.Monthname, exp.LastDay), "month"),
    **dict.fromkeys((exp.Week, exp.WeekOfYear, exp.Day, exp.DayOfMonth, exp.DayOfYear), "day"),
    **dict.fromkeys((exp.DayOfWeek, exp.DayOfWeekIso, exp.Dayname), "day"),
    exp.Hour: "hour",
}
_PERIODS: dict[str, Unit] = {
    **dict.fromkeys(("century", "decade", "year", "quarter", "month"), "month"),
    **dict.fromkeys(("week", "yearweek", "day", "weekday", "dow", "isodow", "doy"), "day"),
    **dict.fromkeys(("dayofweek", "dayofyear", "isoyear", "weekofyear", "dayofmonth"), "day"),
    "hour": "hour",
}


# -- constants --------------------------------------------------------------------------------

_LARGEST = 2**62
_EPOCH = datetime(1970, 1, 1)
_MOMENTS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ)
_MICROSECOND = timedelta(microseconds=1)


def _number(constant: exp.Expr) -> Decimal | None:
    if isinstance(constant, exp.Neg):
        inner = _number(constant.this)
        return None if inner is None else -inner
    if not isinstance(constant, exp.Literal) or constant.is_string:
        return None
    try:
        return Decimal(constant.name)
    except InvalidOperation:
        return None


def _text(constant: exp.Expr, *types: exp.DType) -> str:
    if isinstance(constant, exp.Cast) and constant.to.this in types:
        constant = constant.this
    return constant.name if constant.is_string else ""


def _integer(constant: exp.Expr) -> tuple[Cut, ...] | None:
    number = _number(constant)
    if number is None or abs(number) > _LARGEST:
        return None
    below = floor(number)
    return (below, below + 1) if number == below else (below + 1,)


def _real(constant: exp.Expr) -> tuple[Cut, ...] | None:
    number = _number(constant)
    return None if number is None else (number,)


def _day(constant: exp.Expr) -> tuple[Cut, ...] | None:
    try:
        day = date.fromisoformat(_text(constant, exp.DType.DATE))
        return (day, day + timedelta(days=1))
    except (ValueError, OverflowError):
        return None


def _microsecond(constant: exp.Expr) -> tuple[Cut, ...] | None:
    try:
        moment = datetime.fromisoformat(_text(constant, exp.DType.DATE, *_MOMENTS))
    except ValueError:
        return None
    if moment.tzinfo is not None:
        return None
    if isinstance(constant, exp.Cast) and constant.to.this == exp.DType.DATE:
        moment = datetime.combine(moment.date(), time())  # of which a DATE takes no more
    since = (moment - _EPOCH) // _MICROSECOND
    return (since, since + 1)


_SCALES = {
    "integer": Scale("BIGINT", discrete=True, stepped=True, cutter=_integer),
    "date": Scale("DATE", discrete=True, stepped=True, cutter=_day),
    "decimal": Scale("DOUBLE", discrete=False, stepped=False, cutter=_real),
    "float": Scale("DOUBLE", discrete=False, stepped=False, cutter=_real),
    # Microseconds since 1970; their intervals end where the next one begins.
    "timestamp": Scale("BIGINT", discrete=False, stepped=True, cutter=_microsecond, calendar=True),
}
