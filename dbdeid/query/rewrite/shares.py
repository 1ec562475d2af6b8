"""What share of a released value passes a question's conditions on its column, and in which ways.

One small table for each generalized column that is used, made from the dictionary alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from itertools import product as pairs_of

from sqlglot import exp

from dbdeid.engine.expressions import cast, column, identifier
from dbdeid.engine.relation import NUMBERS, Column, Relation
from dbdeid.query.parse.expressions import constant
from dbdeid.query.parse.question import Join, replaced
from dbdeid.query.rewrite.spread import INFINITE, LEAF, VALUE, Spread, refusal


@dataclass
class Part:
    """One spread column, or all exact columns together: its own conditions, what it hands on.

    `measured` is an argument that the column decides alone, of which moments and ends are enough.
    """

    conditions: list[exp.Expr] = field(default_factory=list)
    features: list[exp.Expr] = field(default_factory=list)
    measured: exp.Expr | None = None


@dataclass(frozen=True)
class Share:
    """The table of one column's shares, as it is joined to released values."""

    column: Column
    place: int
    table: Relation

    @property
    def alias(self) -> str:
        """Its name in the query."""
        return f"share_{self.place}"

    @property
    def weight(self) -> exp.Expr:
        """The share of a value; one that nobody knows stops the query."""
        unknown = refusal(self.column, "has an open end on which the query depends", "DOUBLE")
        return exp.Coalesce(this=column("share", self.alias), expressions=[unknown])

    def joined(self, select: exp.Select, value: exp.Expr) -> exp.Select:
        """The query with the shares of each value, without those that fail the conditions.

        A value that the dictionary lacks stops the query.
        """
        same = exp.NullSafeEQ(this=value, expression=column("value", self.alias))
        joined = select.join(aliased(self.table, self.alias), on=same, join_type="LEFT", copy=False)
        unknown = refusal(self.column, "is not in the dictionary", "BOOLEAN")
        known = exp.Coalesce(this=column("passes", self.alias), expressions=[unknown])
        return joined.where(known, copy=False)


def shares_of(spread_over: Relation, used: Spread, part: Part, joins: Iterable[Join]) -> exp.Select:
    """What share of each value passes the column's conditions, by the parts it hands on.

    Columns: value, passes, part_0, …, share, ways, and for a measured argument low, high, mean.
    All that fails is one row of its value, so that ways count it once.
    """
    passes: exp.Expr = exp.true()
    conditions = [_of_leaf(condition) for condition in part.conditions]
    measured = None if part.measured is None else _of_leaf(part.measured)
    ends: tuple[exp.Expr, exp.Expr] | None = None
    if isinstance(part.measured, exp.Column) and not part.measured.table:
        ends = (column("low", "spread"), column("high", "spread"))
        conditions.append(LEAF.is_(exp.null()).not_())
    elif part.measured is not None and (other := _instead_of_null(part.measured)) is not None:
        low, high = (
            exp.Coalesce(this=cast(column(end, "spread"), "DOUBLE"), expressions=[other.copy()])
            for end in ("low", "high")
        )
        ends = (low, high)
    elif measured is not None:
        ends = (cast(measured, "DOUBLE"), cast(measured.copy(), "DOUBLE"))
        conditions.append(exp.paren(measured.copy()).is_(exp.null()).not_())
    if conditions:
        passes = exp.func("COALESCE", exp.paren(all_of(conditions)), exp.false())
    weight = column("weight", "spread")
    groups = {"value": VALUE.copy(), "passes": passes}
    for place, feature in enumerate(part.features):
        kept = exp.case().when(passes.copy(), _of_leaf(feature)) if conditions else None
        groups[f"part_{place}"] = kept or _of_leaf(feature)
    given: dict[str, exp.Expr] = {
        "mass": exp.Sum(this=weight),
        "size": exp.Max(this=exp.case().when(weight > 0, column("size", "spread"))),
    }
    if ends is not None:
        given["low"], given["high"] = exp.Min(this=ends[0].copy()), exp.Max(this=ends[1].copy())
        assert part.measured is not None
        if _adds_up(used, part.measured):
            middle = exp.paren(cast(ends[0].copy(), "DOUBLE") + cast(ends[1], "DOUBLE")) / 2
            given["mean"] = exp.Sum(this=weight.copy() * middle)
    select = exp.select(
        *(exp.alias_(node, identifier(name)) for name, node in (groups | given).items())
    ).from_(aliased(spread_over, "spread"), copy=False)
    for join in joins:
        select = with_table(select, join, lambda _: LEAF.copy())
    varying = [node.copy() for node in groups.values() if not isinstance(node, exp.Boolean)]
    return _of_masses(select.group_by(*varying, copy=False), groups, given)


def is_of_ends(measured: exp.Expr) -> bool:
    """Whether an argument is a column, or one with a number for NULL, whose ends are enough."""
    plain = isinstance(measured, exp.Column) and not measured.table
    return plain or _instead_of_null(measured) is not None


def _instead_of_null(measured: exp.Expr) -> exp.Expr | None:
    """The number that an argument has where the column that it is of is NULL; None of others."""
    if not isinstance(measured, exp.Coalesce) or not isinstance(measured.this, exp.Column):
        return None
    number, *others = measured.expressions
    plain = not measured.this.table and not others and constant(number) is not None
    return number if plain else None


def _of_masses(
    masses: exp.Select, groups: dict[str, exp.Expr], given: dict[str, exp.Expr]
) -> exp.Select:
    """Shares from masses: of the whole value, and sure where nothing else has a mass."""
    same = [column("value", "masses")]
    mass = column("mass", "masses")
    solid = _over(exp.Count(this=exp.case().when(mass > 0, exp.Literal.number(1))), same)
    size = _over(exp.Max(this=column("size", "masses")), same)
    share = exp.case().when(mass.eq(0), double(0))
    ends = [column(name, "masses") for name in ("low", "high")]
    endless = mass.eq(INFINITE)
    if "low" in given:  # an argument that takes several values up to no end has no mean
        unknown = exp.and_(endless.copy(), exp.NullSafeNEQ(this=ends[0], expression=ends[1]))
        share = share.when(unknown, cast(exp.null(), "DOUBLE"))
    share = (
        share.when(solid.eq(1), double(1))
        .when(size.copy().eq(INFINITE), cast(exp.null(), "DOUBLE"))
        .else_(mass / size.copy())
    )
    select = exp.select(
        *(column(name, "masses") for name in groups),
        exp.alias_(share, "share"),
        exp.alias_(_over(exp.Count(this=exp.Star()), same), "ways"),
        *(column(name, "masses") for name in ("low", "high") if name in given),
    )
    if "mean" in given:
        mean = exp.case().when(endless, cast(ends[0].copy(), "DOUBLE"))
        mean = mean.when(mass > 0, column("mean", "masses") / mass)
        select = select.select(exp.alias_(mean, "mean"), copy=False)
    return select.from_(masses.subquery(identifier("masses"), copy=False), copy=False)


def _over(aggregate: exp.Expr, partition: list[exp.Column]) -> exp.Window:
    return exp.Window(this=aggregate, partition_by=[node.copy() for node in partition])


def _adds_up(used: Spread, measured: exp.Expr) -> bool:
    """Whether an argument is a number: a bare column of the source may be a date."""
    bare = isinstance(measured, exp.Column) and not measured.table
    return not bare or used.column.family in NUMBERS


def with_table(select: exp.Select, join: Join, ours: Callable[[str], exp.Expr]) -> exp.Select:
    """The query with a joined table's columns; an inner join's condition is among the others."""
    same = exp.and_(*(ours(own).eq(column(their, join.alias)) for own, their in join.on))
    table = aliased(join.table, join.alias)
    return select.join(table, on=same, join_type="LEFT", copy=False)


def _of_leaf(node: exp.Expr) -> exp.Expr:
    return replaced(node, lambda c: c.copy() if c.table else LEAF.copy())


def aliased(relation: Relation, name: str) -> exp.Table:
    """The relation under another name."""
    table = relation.table
    table.set("alias", exp.TableAlias(this=identifier(name)))
    return table


def double(number: int) -> exp.Expr:
    """A number as DOUBLE."""
    return cast(exp.Literal.number(number), "DOUBLE")


def nothing() -> exp.Expr:
    """NULL as DOUBLE."""
    return cast(exp.null(), "DOUBLE")


def all_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """The conditions, at least one, joined in pairs of pairs, so that many do not nest deeply."""
    found: list[exp.Expr] = [condition.copy() for condition in conditions]
    if len(found) == 1:
        return found[0]
    found = [exp.paren(condition) for condition in found]
    while len(found) > 1:
        pairs = [found[at : at + 2] for at in range(0, len(found), 2)]
        found = [exp.paren(exp.And(this=p[0], expression=p[1])) if p[1:] else p[0] for p in pairs]
    return found[0]


def product(factors: list[exp.Expr]) -> exp.Expr:
    """The factors multiplied, at least one."""
    return reduce(lambda left, right: left * right, [factor.copy() for factor in factors])


def multiplied(one: list[exp.Expr], two: list[exp.Expr]) -> list[exp.Expr]:
    """The ends and the mean of a product of what is independent."""
    numbers = [[cast(end.copy(), "DOUBLE") for end in ends] for ends in (one, two)]
    first, *others = (a * b for a, b in pairs_of(numbers[0][:2], numbers[1][:2]))
    ends = [kind(this=first, expressions=others) for kind in (exp.Least, exp.Greatest)]
    return [*(end.copy() for end in ends), numbers[0][2] * numbers[1][2]]
