"""Aggregates of groups: of each group one value, between bounds, that may count or not.

A group is to such an aggregate what a released record is to others. It counts for certain where a
record of it is certain, and where it satisfies the conditions whatever its aggregates are between
their bounds; so the same steps add both up. That values of groups are bound to each other, as their
counts by the number of all records, is not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dbdeid.engine.expressions import cast, column, identifier
from dbdeid.engine.relation import Relation
from dbdeid.engine.sqltext import step
from dbdeid.query.groups.intervals import Interval
from dbdeid.query.groups.means import mean_of, rounded_items
from dbdeid.query.parse.question import Aggregate, Kind

_INFINITE = cast(exp.Literal.string("Infinity"), "DOUBLE")
_NOTHING = cast(exp.Literal.number(0), "DOUBLE")


_STEPS: dict[str, str] = {
    "count": "query/count",
    "sum": "query/sum",
}


@dataclass(frozen=True)
class Regrouped:
    """Facts about each group, as expressions over the tables that hold them.

    Attributes:
        keys: of the groups of the answer, by name.
        first: its own first key.
        chance: that there is such a group, and it counts.
        certain: whether it counts for sure, and has a value.
        possible: whether it may.
        value: of the group.
        added: whether the value is expected of no record, too, as a sum or a count is.
        records: whether it is the number of its records, of which there is at least one.
        together: how many records all groups have for certain, of which the greatest number of one
            is asked for; None of other aggregates.
    """

    keys: Mapping[str, exp.Expr]
    first: exp.Expr
    chance: exp.Expr
    certain: exp.Expr
    possible: exp.Expr
    value: Interval
    added: bool
    records: bool
    together: exp.Expr | None = None


def regrouped(beside: exp.Select, of: Regrouped, kind: Kind) -> exp.Select:
    """The groups as items of an aggregate.

    Columns: the keys of the answer, x (its first key), records (1), certain, mass (the chance that
    it counts), total (its expected value times that), value, low, high, together (where given).
    """
    value, low, high = of.value.value, of.value.lower, of.value.upper
    one = exp.Literal.number(1)
    there = of.chance.copy() > 0
    total: exp.Expr = exp.null()  # of what need not be a number
    if kind in ("sum", "avg"):
        number = cast(exp.paren(value.copy()), "DOUBLE")
        total = number if of.added else of.chance.copy() * number
    if of.records:
        low = exp.Greatest(this=low.copy(), expressions=[one.copy()])
        if kind in ("min", "max"):
            value = exp.paren(value.copy()) / exp.Nullif(
                this=exp.paren(of.chance.copy()), expression=exp.Literal.number(0)
            )
    if kind in ("sum", "avg"):  # a bound that is not known is beyond all others
        ends = (exp.Neg(this=_INFINITE.copy()), _INFINITE.copy())
        low, high = (
            exp.Coalesce(this=cast(exp.paren(end.copy()), "DOUBLE"), expressions=[beyond])
            for end, beyond in zip((low, high), ends, strict=True)
        )
    mass = of.chance.copy()
    if kind != "count":
        present = exp.paren(of.value.value.copy()).is_(exp.null()).not_()
        mass = exp.case().when(present, mass).else_(_NOTHING.copy())
    given = {
        **of.keys,
        "x": of.first,
        "records": one,
        "certain": of.certain,
        "mass": mass,
        "total": exp.case().when(there, total).else_(_NOTHING.copy()),
        "value": exp.case().when(there.copy(), value),  # else it is of no group that counts
        "low": low,
        "high": high,
    }
    if of.together is not None:
        given["together"] = of.together
    named = (exp.alias_(node.copy(), identifier(name)) for name, node in given.items())
    return beside.select(*named, copy=False).where(of.possible, copy=False)


def over_items(
    aggregate: Aggregate, items: Relation, keys: Sequence[str], *, whole: bool
) -> exp.Expr:
    """An aggregate of groups as a table of the keys with `estimate`, `lower` and `upper`.

    Args:
        aggregate: of groups.
        items: as `regrouped` gives them.
        keys: of the groups of the answer.
        whole: whether it is of whole numbers, as counts are.
    """
    kind = aggregate.kind
    if kind in ("min", "max"):
        return _first(aggregate, items, keys)
    if kind in ("arg_min", "arg_max"):
        return _chosen(kind, items, keys)
    query: exp.Query
    if kind == "avg":
        query = mean_of(rounded_items(items, keys), keys, steps=not whole)
    else:
        query = step(_STEPS[kind], {"items": items}, {"key": keys})
        for node in query.walk():
            node.pop_comments()
    if kind not in ("sum", "avg"):
        return query
    lower, upper = (
        exp.case().when(exp.Abs(this=column(end)) < _INFINITE, column(end))
        for end in ("lower", "upper")
    )
    return _between(query, lower, upper, keys)


def _first(aggregate: Aggregate, items: Relation, keys: Sequence[str]) -> exp.Select:
    """The least, or the greatest, of the values of groups."""
    kind = aggregate.kind
    first, last = (exp.Min, exp.Max) if kind == "min" else (exp.Max, exp.Min)
    near, far = ("low", "high") if kind == "min" else ("high", "low")
    names = ("lower", "upper") if kind == "min" else ("upper", "lower")
    all_known, far_known = (
        exp.Count(this=exp.Star()).eq(exp.Count(this=column(end))) for end in (near, far)
    )
    certain = first(this=exp.case().when(column("certain"), column(far)))
    any_of = exp.case().when(far_known, last(this=column(far)))
    likely = first(this=exp.case().when(column("mass") >= exp.Literal.number("0.5"), _value()))
    sure: exp.Expr = exp.Coalesce(this=certain, expressions=[any_of])
    if aggregate.is_most_records:  # one of so many groups has no less than all have on average
        mean = cast(exp.Max(this=column("together")), "DOUBLE") / exp.Count(this=exp.Star())
        many = exp.cast(exp.Ceil(this=mean), "BIGINT")
        sure = exp.Greatest(this=sure, expressions=[many], ignore_nulls=True)
    found = exp.select(
        *map(column, keys),
        exp.alias_(exp.Coalesce(this=likely, expressions=[first(this=_value())]), "estimate"),
        exp.alias_(exp.case().when(all_known, first(this=column(near))), names[0]),
        exp.alias_(sure, names[1]),
    )
    found = found.from_(items.table).group_by(*map(column, keys))
    return _between(found, column("lower"), column("upper"), keys)


def _chosen(kind: Kind, items: Relation, keys: Sequence[str]) -> exp.Select:
    """The first key of the group whose value is the least, or the greatest.

    Which one is expected, and the first and the last in order of those that may be it: no group
    that is certain is beyond them.
    """
    least = kind == "arg_min"
    first, beyond = (exp.Min, exp.LTE) if least else (exp.Max, exp.GTE)
    near, far = ("low", "high") if least else ("high", "low")
    alike = [column(key) for key in keys]
    ranked = [
        exp.Ordered(this=column(of), desc=not least, nulls_first=False) for of in ("value", near)
    ]
    order = exp.Order(expressions=[*ranked, exp.Ordered(this=column("x"))])
    place = exp.Window(this=exp.RowNumber(), partition_by=alike, order=order)
    certain = first(this=exp.case().when(column("certain"), column(far)))
    best = exp.Window(this=certain, partition_by=[key.copy() for key in alike])
    placed = exp.select(
        *(column(name) for name in (*keys, "x", near)),
        exp.alias_(best, "best"),
        exp.alias_(place, "place"),
    ).from_(items.table)
    may_be = exp.or_(
        *(column(name).is_(exp.null()) for name in ("best", near)),
        beyond(this=column(near), expression=column("best")),
    )
    expected, possible = (
        exp.case().when(which, column("x")) for which in (column("place").eq(1), may_be)
    )
    return (
        exp.select(
            *map(column, keys),
            exp.alias_(exp.Min(this=expected), "estimate"),
            exp.alias_(exp.Min(this=possible), "lower"),
            exp.alias_(exp.Max(this=possible.copy()), "upper"),
        )
        .from_(placed.subquery("placed"))
        .group_by(*map(column, keys))
    )


def _value() -> exp.Expr:
    return column("value")


def _between(query: exp.Query, lower: exp.Expr, upper: exp.Expr, keys: Sequence[str]) -> exp.Select:
    """The answer with an expected value that lies between its bounds."""
    known = exp.select(
        *map(column, keys),
        column("estimate"),
        exp.alias_(lower, "lower"),
        exp.alias_(upper, "upper"),
    ).from_(query.subquery("found"))
    expected = column("estimate")
    within = (
        exp.case()
        .when(expected < column("lower"), column("lower"))
        .when(expected > column("upper"), column("upper"))
        .else_(expected)
    )
    return exp.select(
        *map(column, keys), exp.alias_(within, "estimate"), column("lower"), column("upper")
    ).from_(known.subquery("known"))
