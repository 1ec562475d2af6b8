"""How a released value spreads over the values it may stand for.

Every leaf of a generalized value is equally likely. A value's leaves are, in this order: the leaves
that the dictionary lists, itself (level 0, or NULL), or what lies between its bounds. Between
bounds a column that is only compared with constants needs no enumeration: the constants cut the
interval into cells on which every condition is constant, each weighing its number of integers or
days, for decimals, floats and timestamps its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from sqlglot import exp

from dbdeid.engine.relation import Column, Relation, column, identifier
from dbdeid.engine.sqltext import step
from dbdeid.query.scale import Cut, Scale, cuts, scale_of

LEAF = column("leaf", "spread")
VALUE = column("value", "spread")


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
    scale = scale_of(source)
    return Spread(source, None if scale is None else cuts(scale, uses))


# -- SQL --------------------------------------------------------------------------------------


def values(source: Column, dictionary: Relation) -> exp.Expr:
    """The column's released values with their dictionary rows."""
    query = step("query_values", {"dictionary": dictionary}, {}, {"column": source.name})
    for node in query.walk():
        node.pop_comments()
    return query


def leaves(found: Relation, used: Spread) -> exp.Query:
    """Every value with its leaves or cells: value, leaf, weight, size (the weights' sum)."""
    listed = exp.select(
        column("value"),
        exp.alias_(_leaf_list(used), "leaves"),
    ).from_(found.table)
    name = column("leaves", "listed")
    points = exp.select(
        column("value", "listed"),
        exp.alias_(exp.Explode(this=name.copy()), "leaf"),
        exp.alias_(exp.cast(exp.Literal.number(1), "DOUBLE"), "weight"),
        exp.alias_(exp.ArraySize(this=name.copy()), "size"),
    ).from_(listed.subquery(identifier("listed")))
    if used.cuts is None or used.scale is None:
        return points
    return exp.union(points, _cells(found, used, used.scale, used.cuts), distinct=False)


def _leaf_list(used: Spread) -> exp.Expr:
    """The list of a value's leaves; an error where the dictionary does not tell them."""
    single = used.leaf_type
    many = exp.DataType(this=exp.DType.ARRAY, expressions=[single.copy()], nested=True)
    value, level, listed = column("value"), column("level"), column("leaves")
    case = (
        exp.case()
        .when(value.is_(exp.null()), exp.array(exp.cast(exp.null(), single)))
        .when(column("meanings") > 1, refusal(used.column, "has two meanings in the dictionary"))
        # before the value itself, whose text tells its level where levels mix
        .when(exp.ArraySize(this=listed) > 0, exp.cast(listed, many))
        .when(level.eq(0), exp.array(exp.cast(value, single)))
    )
    if used.scale is not None and used.measured:
        between = exp.array() if used.cuts is not None else _series(used.scale)
        case = case.when(_bounded(used.scale), exp.cast(between, many))
    return case.else_(refusal(used.column, "is released without the values it stands for"))


def refusal(source: Column, what: str) -> exp.Expr:
    """An expression that stops the query with a message about a value of the column."""
    message = exp.Literal.string(f"a value of {source.name} {what}")
    return exp.Anonymous(this="error", expressions=[message])


def _lower(scale: Scale) -> exp.Expr:
    return _bound(scale, "lower")


def _end(scale: Scale) -> exp.Expr:
    """Where the values end: the first one past them."""
    upper = _bound(scale, "upper")
    return upper + 1 if scale.discrete else upper


def _bound(scale: Scale, name: str) -> exp.Expr:
    if scale.stepped and not scale.discrete:
        moment = exp.cast(column(name), "TIMESTAMP")
        return exp.Anonymous(this="epoch_us", expressions=[moment])
    return exp.cast(column(name), scale.type)


def _bounded(scale: Scale) -> exp.Expr:
    return _lower(scale) < _end(scale)


def _series(scale: Scale) -> exp.Expr:
    day = exp.Interval(this=exp.Literal.string("1"), unit=exp.var("DAY"))
    return exp.GenerateSeries(
        start=_lower(scale),
        end=_bound(scale, "upper"),
        step=day if scale.type == "DATE" else None,
    )


def _cells(found: Relation, used: Spread, scale: Scale, starts: Sequence[Cut]) -> exp.Select:
    """What lies between bounds, cut into cells [start, stop)."""
    lower, end = _lower(scale), _end(scale)
    start = exp.Greatest(this=lower, expressions=[column("low", "cells")], ignore_nulls=True)
    stop = exp.Least(this=end, expressions=[column("high", "cells")], ignore_nulls=True)
    return (
        exp.select(
            column("value"),
            exp.alias_(exp.cast(_representative(scale, start, stop), used.leaf_type), "leaf"),
            exp.alias_(exp.cast(stop - start, "DOUBLE"), "weight"),
            exp.alias_(end - lower, "size"),
        )
        .from_(found.table)
        .join(_cell_table(scale, starts), join_type="CROSS")
        .where(column("level") > 0)
        .where(exp.func("COALESCE", exp.ArraySize(this=column("leaves")), 0).eq(0))
        .where(start < stop)
    )


def _representative(scale: Scale, start: exp.Expr, stop: exp.Expr) -> exp.Expr:
    if not scale.stepped:
        return exp.paren(start + stop) / 2
    if scale.discrete:
        return start.copy()
    return exp.Anonymous(this="make_timestamp", expressions=[start.copy()])


def _cell_table(scale: Scale, starts: Sequence[Cut]) -> exp.Expr:
    rows = [
        exp.select(
            exp.alias_(exp.cast(_constant(low), scale.type), "low"),
            exp.alias_(exp.cast(_constant(high), scale.type), "high"),
        )
        for low, high in pairwise((None, *starts, None))
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
