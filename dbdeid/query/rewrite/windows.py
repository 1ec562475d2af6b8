"""Windows over the groups of an answer: ranks, running sums, and values of groups before and after.

Which groups there are is not known for certain. A rank is at least one more than the groups that
are certain to be before, and at most one more than those that may be. What a sum adds up of a group
that may be missing is between its bounds, which hold nothing as well. The group before another one
is known only where all groups are certain. Of groups that are equal in the order of a window any
may be before another: what is one after the other is then not known, either.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dbdeid.engine.expressions import column
from dbdeid.engine.relation import Relation
from dbdeid.query.parse.question import Kind, Over, key_name
from dbdeid.query.rewrite.shares import aliased

RANKS: dict[str, type[exp.Func]] = {
    "rank": exp.Rank,
    "dense_rank": exp.DenseRank,
    "row_number": exp.RowNumber,
}
_BESIDE: dict[str, type[exp.AggFunc]] = {"lag": exp.Lag, "lead": exp.Lead}


def over_groups(kind: Kind, over: Over, seen: Relation, keys: Sequence[str]) -> exp.Select:
    """A window as a table of the keys with `estimate`, `lower` and `upper`.

    Args:
        kind: which.
        over: what it is of.
        seen: the keys of all groups that may be there; expected (whether any record is), certain
            (whether one is for sure), settled (whether what is shown is not NULL); value, lower and
            upper of what is shown; term_0, … of the order; number, that of the group.
        keys: their names.
    """
    if kind in RANKS:
        return _ranks(kind, over, seen, keys)
    if kind in _BESIDE:
        return _neighbours(kind, over, seen, keys)
    return _sums(over, seen, keys)


def _window(function: exp.Expr, over: Over, ties: Sequence[str] = ()) -> exp.Window:
    """A function over the groups in order, equals in that of the columns for `ties`."""
    order = [
        exp.Ordered(this=column(f"term_{place}"), desc=one.descending, nulls_first=one.nulls_first)
        for place, one in enumerate(over.order)
    ]
    order += [exp.Ordered(this=column(key)) for key in ties]
    return exp.Window(this=function, partition_by=_alike(over), order=exp.Order(expressions=order))


def _alike(over: Over) -> list[exp.Expr]:
    """The keys that groups have alike which are looked at together."""
    return [column(key_name(place)) for place in over.keys]


def _with_equals(over: Over, seen: Relation) -> exp.Select:
    """The groups, with how many are at the same place of the order."""
    terms = [column(f"term_{place}") for place in range(len(over.order))]
    count = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[*_alike(over), *terms])
    return exp.select(exp.Star(), exp.alias_(count, "equals")).from_(seen.table)


def _sums(over: Over, seen: Relation, keys: Sequence[str]) -> exp.Select:
    """The sums from the first group to each."""
    ties = keys if over.by_rows else ()
    value, lower, upper = (
        _window(exp.Sum(this=column(of)), over, ties) for of in ("value", "lower", "upper")
    )
    names = [column(key) for key in keys]
    if not over.by_rows:
        ends = [exp.alias_(lower, "lower"), exp.alias_(upper, "upper")]
        return exp.select(*names, exp.alias_(value, "estimate"), *ends).from_(seen.table)
    ends = [
        exp.alias_(exp.case().when(column("equals").eq(1), end), name)
        for end, name in ((lower, "lower"), (upper, "upper"))
    ]
    placed = _with_equals(over, seen).subquery("placed")
    return exp.select(*names, exp.alias_(value, "estimate"), *ends).from_(placed)


def _neighbours(kind: Kind, over: Over, seen: Relation, keys: Sequence[str]) -> exp.Select:
    """Of the group that is so many groups before or after."""
    placed = exp.and_(column("certain"), column("equals").eq(1))
    doubtful = exp.case().when(placed, exp.Literal.number(0)).else_(1)
    open_ones = exp.Window(this=exp.Max(this=doubtful), partition_by=_alike(over))
    groups = _with_equals(over, seen).subquery("placed")
    sure = exp.select(exp.Star(), exp.alias_(open_ones, "doubtful")).from_(groups)

    def beside(name: str) -> exp.Expr:
        function = _BESIDE[kind](this=column(name), offset=exp.Literal.number(over.distance))
        return _window(function, over, keys)

    known = column("doubtful").eq(0)
    return (
        exp.select(
            *(column(key) for key in keys),
            exp.alias_(beside("value"), "estimate"),
            exp.alias_(exp.case().when(known, beside("lower")), "lower"),
            exp.alias_(exp.case().when(known.copy(), beside("upper")), "upper"),
        )
        .from_(sure.subquery("sure"))
        .where(column("expected"))
    )


def _ranks(kind: Kind, over: Over, seen: Relation, keys: Sequence[str]) -> exp.Select:
    """The place among the groups that are looked at together."""

    def one(name: str) -> exp.Column:
        return column(name, "own")

    def other(name: str) -> exp.Column:
        return column(name, "other")

    falls = over.order[0].descending
    # the ends by which another group is before this one for certain, and by which it may be
    far, near = ("lower", "upper") if falls else ("upper", "lower")
    before = exp.GT if falls else exp.LT
    may_tie = kind == "row_number" or len(over.order) > 1
    may = (exp.GTE if falls else exp.LTE) if may_tie else before
    apart = one("number").neq(other("number"))
    surely = exp.and_(
        apart,
        other("certain"),
        other("settled"),
        before(this=other(far), expression=one(near)),
    )
    maybe = exp.and_(
        apart.copy(),
        exp.or_(one("settled").not_(), may(this=other(near), expression=one(far))),
    )
    least: exp.Expr = exp.Count(this=exp.case().when(surely, 1))
    if kind == "dense_rank":
        least = exp.Least(this=least, expressions=[exp.Literal.number(1)])
    most = exp.Count(this=exp.case().when(maybe, 1))
    unknown = exp.Count(
        this=exp.case().when(
            exp.or_(*(other(end).is_(exp.null()) for end in ("lower", "upper"))), 1
        )
    )
    known = unknown.eq(0)
    alike = [
        exp.NullSafeEQ(this=one(key_name(place)), expression=other(key_name(place)))
        for place in over.keys
    ]
    ties = keys if kind == "row_number" else ()
    placed = (
        exp.select(column("number"), exp.alias_(_window(RANKS[kind](), over, ties), "place"))
        .from_(seen.table)
        .where(column("expected"))
    )
    names = [one(key) for key in keys]
    return (
        exp.select(
            *names,
            exp.alias_(exp.AnyValue(this=column("place", "placed")), "estimate"),
            exp.alias_(exp.case().when(known, least + 1), "lower"),
            exp.alias_(exp.case().when(known.copy(), most + 1), "upper"),
        )
        .from_(aliased(seen, "own"))
        .join(aliased(seen, "other"), on=exp.and_(*alike) if alike else exp.true())
        .join(placed.subquery("placed"), on=column("number", "placed").eq(one("number")))
        .group_by(*(name.copy() for name in names), one("number"))
    )
