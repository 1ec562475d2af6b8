"""How a released value spreads over the values it may stand for.

Every leaf of a generalized value is equally likely. A value's leaves are, in this order: the leaves
that the dictionary lists, itself (level 0, or NULL), or what lies between its bounds. Between
bounds a column that is only compared with constants needs no enumeration: the constants cut the
interval into cells on which every condition is constant, each weighing its number of integers or
days, for decimals, floats and timestamps its length. There a cut is a cell of its own without
length: nothing is expected of it, but a value may lie there. A missing bound is infinitely far.

`*` may also stand for NULL, of which nothing is expected either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from sqlglot import exp

from dbdeid.engine.expressions import cast, column, identifier, union_all
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.sqltext import step
from dbdeid.query.parse.meaning import source_type
from dbdeid.query.rewrite.scale import Cut, Cuts, Scale, Unit, cuts, scale_of

LEAF = column("leaf", "spread")
VALUE = column("value", "spread")
ANY = "*"
INFINITE = cast(exp.Literal.string("Infinity"), "DOUBLE")


@dataclass(frozen=True)
class Spread:
    """A generalized column as one query uses it.

    Attributes:
        column: the column with its source type.
        cuts: what cuts the column's range into cells for the query; None when it needs the single
            values.
    """

    column: Column
    cuts: Cuts | None

    @property
    def scale(self) -> Scale | None:
        """How its values are measured; None for text and the like."""
        return scale_of(self.column)

    @property
    def listed(self) -> bool:
        """Whether the query lists the single values between two bounds."""
        return self.cuts is None and self.scale is not None and self.scale.discrete

    @property
    def measured(self) -> bool:
        """Whether a value with two bounds can be used as the query wants."""
        return self.listed or self.cuts is not None

    @property
    def leaf_type(self) -> exp.DataType:
        """Type of a leaf: the source's, or one in which a cell's start or middle is not rounded."""
        if self.column.family == "decimal" and self.cuts is not None:
            return exp.DataType.build("DOUBLE")
        if self.column.family == "timestamp" and self.cuts is not None:
            return exp.DataType.build("TIMESTAMP")
        return source_type(self.column)


def spread(source: Column, uses: Sequence[exp.Expr]) -> Spread:
    """The column with the cuts that its uses in a query make."""
    scale = scale_of(source)
    return Spread(source, None if scale is None else cuts(scale, uses))


# -- SQL --------------------------------------------------------------------------------------


def values(source: Column, dictionary: Relation) -> exp.Query:
    """The column's released values with their dictionary rows."""
    query = step("query/values", {"dictionary": dictionary}, {}, {"column": source.name})
    for node in query.walk():
        node.pop_comments()
        if isinstance(node, exp.Column) and node.name in _DICTIONARY:
            node.type = exp.DataType.build(_DICTIONARY[node.name])
    return query


_DICTIONARY = {
    **{"released_value": "VARCHAR", "lower": "VARCHAR", "upper": "VARCHAR"},
    **{"level": "INT", "leaves": "ARRAY<VARCHAR>"},
}


def leaves(found: Relation, used: Spread) -> exp.Query:
    """Every value with its leaves or cells: value, leaf, low, high, weight, size.

    A leaf or cell lies between `low` and `high`, and weighs `weight` of `size`; both are infinite
    where a bound is missing.
    """
    name = column("leaves", "listed")
    leaf = exp.Explode(this=name.copy())
    leaf.type = used.leaf_type
    listed = exp.select(column("value"), exp.alias_(_leaf_list(used), "leaves")).from_(found.table)
    points = exp.select(
        column("value", "listed"),
        exp.alias_(leaf, "leaf"),
        exp.alias_(_double(1), "weight"),
        exp.alias_(cast(exp.ArraySize(this=name.copy()), "DOUBLE"), "size"),
    ).from_(listed.subquery(identifier("listed"), copy=False), copy=False)
    single = exp.select(
        *(column(c, "points") for c in ("value", "leaf")),
        *(exp.alias_(column("leaf", "points"), end) for end in ("low", "high")),
        *(column(c, "points") for c in ("weight", "size")),
    ).from_(points.subquery(identifier("points"), copy=False), copy=False)
    parts: list[exp.Query] = [single, _missing(found, used)]
    if used.cuts is not None and used.scale is not None:
        parts.append(_cells(found, used, used.scale, used.cuts))
        if not used.scale.stepped:
            parts += [_point(found, used, used.scale, cut) for cut in used.cuts.starts]
    return union_all(*parts)


def _missing(found: Relation, used: Spread) -> exp.Select:
    """NULL, for which `*` may stand."""
    nothing = cast(exp.null(), used.leaf_type)
    return (
        exp.select(
            column("value"),
            *(exp.alias_(nothing.copy(), name) for name in ("leaf", "low", "high")),
            exp.alias_(_double(0), "weight"),
            exp.alias_(_double(1), "size"),
        )
        .from_(found.table)
        .where(column("value").eq(exp.Literal.string(ANY)))
        .where(column("level") > 0)
    )


def _leaf_list(used: Spread) -> exp.Expr:
    """The list of a value's leaves; an error where the dictionary does not list them."""
    single = used.leaf_type
    many = exp.DataType(this=exp.DType.ARRAY, expressions=[single.copy()], nested=True)
    value, level, listed = column("value"), column("level"), column("leaves")

    def refused(what: str) -> exp.Expr:
        return refusal(used.column, what, many)

    case = (
        exp.case()
        .when(value.is_(exp.null()), exp.array(cast(exp.null(), single)))
        .when(column("meanings") > 1, refused("has two meanings in the dictionary"))
        # before the value itself, whose text tells its level where levels mix
        .when(exp.ArraySize(this=listed) > 0, cast(listed, many))
        .when(level.eq(0), exp.array(cast(value, single)))
    )
    if used.scale is not None and used.cuts is not None:
        case = case.when(_somehow_bounded(), cast(exp.array(), many))
    elif used.scale is not None and used.listed:
        case = case.when(_bounded(used.scale), cast(_series(used.scale), many))
    return case.else_(refused("is released without the values it stands for"))


def refusal(source: Column, what: str, kind: exp.DataType | str) -> exp.Expr:
    """An expression of a type that stops the query with a message about a value of the column."""
    message = exp.Literal.string(f"a value of {source.name} {what}")
    return cast(exp.Anonymous(this="error", expressions=[message]), kind)


def _double(number: int) -> exp.Expr:
    return cast(exp.Literal.number(number), "DOUBLE")


def _lower(scale: Scale) -> exp.Expr:
    return _bound(scale, "lower")


def _end(scale: Scale) -> exp.Expr:
    """Where the values end: the first one past them."""
    upper = _bound(scale, "upper")
    return upper + 1 if scale.discrete else upper


def _bound(scale: Scale, name: str) -> exp.Expr:
    if scale.stepped and not scale.discrete:
        moment = cast(column(name), "TIMESTAMP")
        return exp.Anonymous(this="epoch_us", expressions=[moment])
    return cast(column(name), scale.type)


def _bounded(scale: Scale) -> exp.Expr:
    return _lower(scale) < _end(scale)


def _somehow_bounded() -> exp.Expr:
    return exp.or_(*(column(name).is_(exp.null()).not_() for name in ("lower", "upper")))


def _series(scale: Scale) -> exp.Expr:
    day = exp.Interval(this=exp.Literal.string("1"), unit=exp.var("DAY"))
    return exp.GenerateSeries(
        start=_lower(scale),
        end=_bound(scale, "upper"),
        step=day if scale.type == "DATE" else None,
    )


def _between_bounds(query: exp.Select) -> exp.Select:
    """The rows whose values are described by bounds alone."""
    return (
        query.where(column("level") > 0, copy=False)
        .where(exp.func("COALESCE", exp.ArraySize(this=column("leaves")), 0).eq(0), copy=False)
        .where(_somehow_bounded(), copy=False)
    )


def _cells(found: Relation, used: Spread, scale: Scale, by: Cuts) -> exp.Select:
    """What lies between bounds, cut into cells [start, stop)."""
    lower, end = _lower(scale), _end(scale)
    start = exp.Greatest(this=lower, expressions=[column("low", "cells")], ignore_nulls=True)
    stop = exp.Least(this=end, expressions=[column("high", "cells")], ignore_nulls=True)
    last = stop - 1 if scale.stepped else stop
    ends: list[exp.Expr] = [start, last]
    if not scale.discrete and scale.stepped:
        ends = [exp.Anonymous(this="make_timestamp", expressions=[e.copy()]) for e in ends]
    low, high = (cast(node.copy(), used.leaf_type) for node in ends)
    finite = exp.func("COALESCE", _length(scale, start, stop), INFINITE.copy())
    whole = exp.func("COALESCE", _length(scale, lower, end), INFINITE.copy())
    overlap = exp.func("COALESCE", start < stop, exp.true())
    query = exp.select(
        column("value"),
        exp.alias_(cast(_representative(scale, start, stop), used.leaf_type), "leaf"),
        exp.alias_(low, "low"),
        exp.alias_(high, "high"),
        exp.alias_(finite, "weight"),
        exp.alias_(whole, "size"),
    ).from_(found.table)
    cells = _cell_table(scale, by.starts)
    if by.unit is not None:
        cells = _periods(found, scale, by.starts, by.unit)
    elif by.step is not None:
        cells = _bins(found, scale, by.starts, by.step)
    query = query.join(cells, join_type="CROSS", copy=False)
    return _between_bounds(query).where(overlap, copy=False)


def _length(scale: Scale, start: exp.Expr, stop: exp.Expr) -> exp.Expr:
    """How much lies from one end to the other, in what the scale counts."""
    if scale.type == "DATE":
        days = exp.DateDiff(this=stop.copy(), expression=start.copy(), unit=exp.var("DAY"))
        return cast(days, "DOUBLE")
    return cast(exp.paren(stop - start), "DOUBLE")


def _point(found: Relation, used: Spread, scale: Scale, cut: Cut) -> exp.Select:
    """The cut itself where it lies between bounds, weighing nothing."""
    point = cast(_constant(cut), scale.type)
    leaf = cast(_constant(cut), used.leaf_type)
    query = exp.select(
        column("value"),
        *(exp.alias_(leaf.copy(), name) for name in ("leaf", "low", "high")),
        exp.alias_(_double(0), "weight"),
        exp.alias_(_double(1), "size"),
    ).from_(found.table)
    inside = (_lower(scale) <= point, point.copy() < _end(scale))
    return _between_bounds(query).where(
        *(exp.func("COALESCE", side, exp.true()) for side in inside)
    )


def _representative(scale: Scale, start: exp.Expr, stop: exp.Expr) -> exp.Expr:
    """A value inside a cell, of which one end may be missing."""
    if scale.stepped:
        first = exp.func("COALESCE", start.copy(), stop.copy() - 1)
        if scale.discrete:
            return first
        return exp.Anonymous(this="make_timestamp", expressions=[first])
    middle = exp.paren(start + stop) / 2
    return exp.func("COALESCE", middle, start.copy() + 1, stop.copy() - 1)


def _cell_table(scale: Scale, starts: Sequence[Cut]) -> exp.Expr:
    rows = [
        exp.select(
            exp.alias_(cast(_constant(low), scale.type), "low"),
            exp.alias_(cast(_constant(high), scale.type), "high"),
        )
        for low, high in pairwise((None, *starts, None))
    ]
    return union_all(*rows).subquery(identifier("cells"), copy=False)


def _periods(found: Relation, scale: Scale, starts: Sequence[Cut], unit: Unit) -> exp.Expr:
    """The periods of the calendar from the first bound to the last, cut by constants as well."""
    first, last = (
        exp.cast(end, "TIMESTAMP")
        for end in (exp.Min(this=column("lower")), exp.Max(this=column("upper")))
    )
    begin = exp.TimestampTrunc(this=first, unit=exp.var(unit.upper()))
    period = exp.Interval(this=exp.Literal.string("1"), unit=exp.var(unit.upper()))
    series = exp.Explode(this=exp.GenerateSeries(start=begin, end=last, step=period))
    moments = _between_bounds(exp.select(exp.alias_(series, "moment")).from_(found.table))
    micro = exp.Anonymous(this="epoch_us", expressions=[column("moment")])
    starting = exp.select(exp.alias_(micro, "low")).from_(moments.subquery(identifier("moments")))
    return _between_places(starting, scale, starts)


def _bins(found: Relation, scale: Scale, starts: Sequence[Cut], step: int) -> exp.Expr:
    """The bins of a histogram from the first bound to the last, cut by constants as well."""
    wide = exp.Literal.number(step)
    first, last = (
        cast(exp.Floor(this=exp.paren(cast(end, scale.type)) / wide.copy()), "BIGINT")
        for end in (exp.Min(this=_bound(scale, "lower")), exp.Max(this=_bound(scale, "upper")))
    )
    series = exp.Explode(this=exp.GenerateSeries(start=first, end=last))
    bins = _between_bounds(exp.select(exp.alias_(series, "bin")).from_(found.table))
    low = cast(column("bin") * wide, scale.type)
    starting = exp.select(exp.alias_(low, "low")).from_(bins.subquery(identifier("bins")))
    return _between_places(starting, scale, starts)


def _between_places(starting: exp.Query, scale: Scale, starts: Sequence[Cut]) -> exp.Expr:
    """Cells from one place to the next one, constants among them."""
    places: list[exp.Query] = [starting]
    places += [exp.select(exp.alias_(exp.cast(_constant(at), scale.type), "low")) for at in starts]
    following = exp.WindowSpec(
        kind="ROWS", start="1", start_side="FOLLOWING", end="1", end_side="FOLLOWING"
    )
    order = exp.Order(expressions=[exp.Ordered(this=column("low"), nulls_first=False)])
    high = exp.Window(this=exp.Min(this=column("low")), order=order, spec=following)
    distinct = exp.select("low").distinct().from_(union_all(*places).subquery(identifier("places")))
    return (
        exp.select("low", exp.alias_(high, "high"))
        .from_(distinct.subquery(identifier("apart")))
        .subquery(identifier("cells"), copy=False)
    )


def _constant(cut: Cut | None) -> exp.Expr:
    if cut is None:
        return exp.null()
    if isinstance(cut, date):
        return exp.Literal.string(cut.isoformat())
    return exp.Literal.number(cut) if cut >= 0 else exp.Neg(this=exp.Literal.number(-cut))
