"""Columns on a scale: where the constants of a query cut the range of a column.

Between two cuts every comparison of the column with the query's constants has one outcome, so one
representative and the size of the cell stand for all values in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from math import floor

from sqlglot import exp

from dbdeid.engine.relation import Column
from dbdeid.query.parse.expressions import bare

Cut = int | Decimal | date
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
    """

    type: str
    discrete: bool
    stepped: bool
    cutter: Cutter


def scale_of(source: Column) -> Scale | None:
    """The scale of a column, by its source type."""
    if "TIME ZONE" in source.type.upper():
        return None
    return _SCALES.get(source.family)


def cuts(scale: Scale, uses: Sequence[exp.Expr]) -> tuple[Cut, ...] | None:
    """Where the uses of a column cut its scale, sorted.

    Returns:
        None when the column is not only compared with constants, so that single values matter.
    """
    found: set[Cut] = set()
    for use in uses:
        others = _compared(use)
        if others is None:
            return None
        for other in others:
            if isinstance(other, exp.Null):
                continue
            starts = scale.cutter(other)
            if starts is None:
                return None
            found.update(starts)
    return tuple(sorted(found))


_COMPARISONS = (
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Between, exp.In, exp.Is),
)


def _compared(use: exp.Expr) -> list[exp.Expr] | None:
    """What an expression compares the column with; None when it does anything else with it."""
    others: list[exp.Expr] = []
    for reference in exp.Paren(this=use.copy()).find_all(exp.Column):
        node: exp.Expr = reference
        while isinstance(node.parent, exp.Paren):
            node = node.parent
        parent = node.parent
        if not isinstance(parent, _COMPARISONS):
            return None
        others.extend(bare(part) for part in parent.iter_expressions() if part is not node)
    return others


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
    since = (moment - _EPOCH) // _MICROSECOND
    return (since, since + 1)


_SCALES = {
    "integer": Scale("BIGINT", discrete=True, stepped=True, cutter=_integer),
    "date": Scale("DATE", discrete=True, stepped=True, cutter=_day),
    "decimal": Scale("DOUBLE", discrete=False, stepped=False, cutter=_real),
    "float": Scale("DOUBLE", discrete=False, stepped=False, cutter=_real),
    # Microseconds since 1970; their intervals end where the next one begins.
    "timestamp": Scale("BIGINT", discrete=False, stepped=True, cutter=_microsecond),
}
