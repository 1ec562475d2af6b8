"""How a released value spreads over the values it may stand for.

Every leaf of a generalized value is equally likely. A value's leaves are, in this order: itself
(level 0, or NULL), the leaves that the dictionary lists, or what lies between its bounds. Between
bounds a column that is only compared with constants needs no enumeration: the constants cut the
interval into cells on which every condition is constant, each weighing its number of integers or
days, for decimals and floats its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from itertools import pairwise

from sqlglot import exp

from dbdeid.engine.relation import Column, Relation, column, identifier
from dbdeid.engine.sqltext import step

LEAF = exp.column(identifier("leaf"), table=identifier("spread"))
VALUE = exp.column(identifier("value"), table=identifier("spread"))

Cut = int | float | Decimal | date


@dataclass(frozen=True)
class Spread:
    """A generalized column as one query uses it.

    Attributes:
        column: the column with its source type.
        cuts: sorted starts of the cells into which the query's constants cut the column's range;
            None when the query needs the single values.
    """

    column: Column
    cuts: tuple[Cut, ...] | None

    @property
    def enumerable(self) -> bool:
        """Whether the single values between two bounds can be listed."""
        return self.column.family in ("integer", "date")

    @property
    def leaf_type(self) -> exp.DataType:
        """Type of a leaf: the source's; DOUBLE where a cell's middle would be rounded."""
        if self.column.family == "decimal" and self.cuts is not None:
            return exp.DataType.build("DOUBLE")
        return source_type(self.column)


def source_type(source: Column) -> exp.DataType:
    """The type in which a column's values are answered; ENUM as the text it holds."""
    name = "VARCHAR" if source.family == "enum" else source.type
    return exp.DataType.build(name, dialect="duckdb")


def spread(source: Column, uses: Sequence[exp.Expr]) -> Spread:
    """The column with the cuts that its uses in a query make."""
    constants: list[exp.Expr] = []
    for use in uses:
        found = _compared(use)
        if found is None:
            return Spread(source, None)
        constants.extend(found)
    return Spread(source, _cuts(source.family, constants))


# -- constants that cut -----------------------------------------------------------------------

_COMPARISONS = (
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Between, exp.In, exp.Is),
)


def _compared(use: exp.Expr) -> list[exp.Expr] | None:
    """The constants of an expression in which the column is only compared with constants."""
    constants: list[exp.Expr] = []
    for reference in exp.Paren(this=use.copy()).find_all(exp.Column):
        parent: exp.Expr | None = reference.parent
        if not isinstance(parent, _COMPARISONS):
            return None
        parts: list[exp.Expr] = list(parent.iter_expressions())
        others = [part for part in parts if part is not reference]
        if any(part.find(exp.Column) for part in others):
            return None
        constants.extend(others)
    return constants


def _cuts(family: str, constants: Sequence[exp.Expr]) -> tuple[Cut, ...] | None:
    cuts: set[Cut] = set()
    for constant in constants:
        if isinstance(constant, exp.Null | exp.Boolean):
            continue
        found = _CUTTERS[family](constant) if family in _CUTTERS else None
        if found is None:
            return None
        cuts.update(found)
    return tuple(sorted(cuts)) if family in _CUTTERS else None


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


def _integer_cuts(constant: exp.Expr) -> tuple[Cut, ...] | None:
    number = _number(constant)
    if number is None or abs(number) > 2**62:
        return None
    floor = int(number // 1) if number >= 0 or number == number // 1 else int(number // 1) - 1
    return (floor, floor + 1) if number == floor else (floor + 1,)


def _real_cuts(constant: exp.Expr) -> tuple[Cut, ...] | None:
    number = _number(constant)
    return None if number is None else (number,)


def _date_cuts(constant: exp.Expr) -> tuple[Cut, ...] | None:
    if isinstance(constant, exp.Cast) and constant.is_type("date"):
        constant = constant.this
    try:
        day = date.fromisoformat(constant.name if constant.is_string else "")
        return (day, day + timedelta(days=1))
    except (ValueError, OverflowError):
        return None


_CUTTERS = {
    "integer": _integer_cuts,
    "decimal": _real_cuts,
    "float": _real_cuts,
    "date": _date_cuts,
}


# -- SQL --------------------------------------------------------------------------------------


def values(released: Relation, value: str, source: Column, dictionary: Relation) -> exp.Expr:
    """The column's values in the grouped release, each with its dictionary row."""
    query = step(
        "query_values",
        {"rel": released, "dictionary": dictionary},
        {"value": [value]},
        {"column": source.name},
    )
    query.pop_comments()
    return query


def leaves(found: Relation, used: Spread) -> exp.Query:
    """Every value with its leaves or cells: value, leaf, weight, size (the weights' sum)."""
    listed = exp.select(
        exp.column(identifier("value")),
        exp.alias_(_leaf_list(used), identifier("leaves")),
    ).from_(found.table)
    name = exp.column(identifier("leaves"), table=identifier("listed"))
    points = exp.select(
        column("value", "listed"),
        exp.alias_(exp.Explode(this=name.copy()), identifier("leaf")),
        exp.alias_(exp.cast(exp.Literal.number(1), "DOUBLE"), identifier("weight")),
        exp.alias_(exp.ArraySize(this=name.copy()), identifier("size")),
    ).from_(listed.subquery(identifier("listed")))
    if used.cuts is None:
        return points
    return exp.union(points, _cells(found, used, used.cuts), distinct=False)


def _leaf_list(used: Spread) -> exp.Expr:
    """The list of a value's leaves; an error where the dictionary does not tell them."""
    single = used.leaf_type
    many = exp.DataType(this=exp.DType.ARRAY, expressions=[single.copy()], nested=True)
    value, level, listed = _field("value"), _field("level"), _field("leaves")
    case = (
        exp.case()
        .when(value.is_(exp.null()), exp.array(exp.cast(exp.null(), single)))
        .when(_field("meanings") > 1, _error(used, "has two meanings in the dictionary"))
        .when(level.eq(0), exp.array(exp.cast(value, single)))
        .when(exp.ArraySize(this=listed) > 0, exp.cast(listed, many))
    )
    if used.cuts is not None:
        case = case.when(_bounded(used), exp.cast(exp.array(), many))
    elif used.enumerable:
        case = case.when(_bounded(used), exp.cast(_series(used), many))
    return case.else_(_error(used, "is released without the values it stands for"))


def _field(name: str) -> exp.Column:
    return column(name)


def _error(used: Spread, what: str) -> exp.Expr:
    message = exp.Literal.string(f"a value of {used.column.name} {what}")
    return exp.Anonymous(this="error", expressions=[message])


def _bound(used: Spread, name: str) -> exp.Expr:
    kind = {"integer": "BIGINT", "date": "DATE"}.get(used.column.family, "DOUBLE")
    return exp.cast(_field(name), kind)


def _bounded(used: Spread) -> exp.Expr:
    lower, upper = _bound(used, "lower"), _bound(used, "upper")
    kind = exp.LTE if used.enumerable else exp.LT
    return kind(this=lower, expression=upper)


def _series(used: Spread) -> exp.Expr:
    day = exp.Interval(this=exp.Literal.string("1"), unit=exp.var("DAY"))
    return exp.GenerateSeries(
        start=_bound(used, "lower"),
        end=_bound(used, "upper"),
        step=day if used.column.family == "date" else None,
    )


def _cells(found: Relation, used: Spread, cuts: Sequence[Cut]) -> exp.Select:
    """Values between bounds, cut into cells; integers and days as half-open [lower, upper + 1)."""
    lower, end = _bound(used, "lower"), _bound(used, "upper")
    if used.enumerable:
        end = end + 1
    start = exp.Greatest(this=lower, expressions=[column("low", "cells")], ignore_nulls=True)
    stop = exp.Least(this=end, expressions=[column("high", "cells")], ignore_nulls=True)
    middle = start.copy() if used.enumerable else exp.paren(start + stop) / 2
    return (
        exp.select(
            column("value"),
            exp.alias_(exp.cast(middle, used.leaf_type), identifier("leaf")),
            exp.alias_(exp.cast(stop - start, "DOUBLE"), identifier("weight")),
            exp.alias_(end - lower, identifier("size")),
        )
        .from_(found.table)
        .join(_cell_table(used, cuts), join_type="CROSS")
        .where(_field("level") > 0)
        .where(exp.func("COALESCE", exp.ArraySize(this=_field("leaves")), 0).eq(0))
        .where(_bounded(used))
        .where(start < stop)
    )


def _cell_table(used: Spread, cuts: Sequence[Cut]) -> exp.Expr:
    kind = {"integer": "BIGINT", "date": "DATE"}.get(used.column.family, "DOUBLE")
    rows = [
        exp.select(
            exp.alias_(exp.cast(_constant(low), kind), identifier("low")),
            exp.alias_(exp.cast(_constant(high), kind), identifier("high")),
        )
        for low, high in pairwise((None, *cuts, None))
    ]
    query: exp.Query = rows[0]
    for row in rows[1:]:
        query = exp.union(query, row, distinct=False, copy=False)
    return query.subquery(identifier("cells"))


def _constant(cut: Cut | None) -> exp.Expr:
    if cut is None:
        return exp.null()
    if isinstance(cut, date):
        return exp.Literal.string(cut.isoformat())
    return exp.Literal.number(cut) if cut >= 0 else exp.Neg(this=exp.Literal.number(-cut))
