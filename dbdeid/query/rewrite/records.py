"""The records that one aggregate of a question looks at, as plain SQL over release and dictionary.

For each generalized column that is used, one small table made from the dictionary says what share
of a released value passes the conditions on that column alone, and in how many ways that differ for
the question (`ways`). The release is grouped before it meets these tables, except where many
columns only filter: those weigh the records first. Columns that a key, a condition or the argument
mixes hand on the parts of it that they decide alone. A group of equal released records is an
*item*; it counts for certain where all its ways do.

Uniform spread: Lee, Kim & Chung 2017, section 5; LeFevre et al. 2006, section 6.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Literal

from sqlglot import exp

from dbdeid.engine.expressions import cast, column, identifier
from dbdeid.engine.relation import NUMBERS, Column, Relation
from dbdeid.errors import DataError
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.common_tables import CommonTables
from dbdeid.query.parse.expressions import has_alternatives
from dbdeid.query.parse.question import Join, Question, key_name
from dbdeid.query.rewrite.counted import CountedRecords
from dbdeid.query.rewrite.measures import Measure, held
from dbdeid.query.rewrite.released import Beyond, Near, Released
from dbdeid.query.rewrite.scale import UNITS
from dbdeid.query.rewrite.shares import (
    Part,
    Share,
    aliased,
    all_of,
    double,
    is_of_ends,
    multiplied,
    nothing,
    product,
    shares_of,
)
from dbdeid.query.rewrite.spread import Spread, leaves, spread, values
from dbdeid.query.rewrite.thresholds import WAYS, in_each_way, three_ways

# Of an argument: whether it is NULL; its expected value, least and greatest; its values in order,
# for which those of intervals will not do; each of its values.
Need = Literal["presence", "moments", "order", "values"]

EXACT = ""
WHOLE = "whole"


def is_exact(source: Column, target: Answerable) -> bool:
    """Whether the release holds the column's own values, seen from its type alone."""
    released = target.release.find(source.name)
    generalized = {name.lower() for name in target.quasi_identifiers}
    return (
        target.dictionary is None
        or source.name.lower() not in generalized
        or (released is not None and released.family != "text")
    )


def key_names(question: Question) -> list[str]:
    """The columns by which groups are told apart; one constant where there are no keys."""
    return [key_name(place) for place in range(len(question.keys))] or [WHOLE]


@dataclass
class Records:
    """The pieces of a question, taken apart by the columns that own them.

    Attributes:
        question: what is asked.
        target: the release.
        need: what the aggregate needs of its argument.
        measures: arguments of exact columns alone, summed up over equal records.
        doubtful: records that count for certain, whatever is asked, are left out.
        within: records with values that do not matter are left out.
        counted: where equal records may have been counted.
    """

    question: Question
    target: Answerable
    need: Need
    measures: tuple[Measure, ...] = ()
    doubtful: bool = False
    within: Beyond | Near | None = None
    counted: CountedRecords | None = None
    _parts: dict[str, Part] = field(default_factory=lambda: {EXACT: Part()})
    _keys: list[exp.Expr] = field(default_factory=list)
    _mixed: list[exp.Expr] = field(default_factory=list)
    _value: exp.Expr | None = None
    _ways: bool = False

    @classmethod
    def of(
        cls,
        question: Question,
        target: Answerable,
        argument: exp.Expr | None,
        condition: exp.Expr | None,
        need: Need,
        **how: Any,
    ) -> Records:
        """Take a question apart for one aggregate.

        Args:
            question: what is asked.
            target: the release.
            argument: of the aggregate; records where it is NULL do not count.
            condition: that of the aggregate's FILTER.
            need: what the aggregate needs of it.
            how: attributes that are not the usual ones.

        Raises:
            DataError: a table is joined on several generalized columns.
        """
        found = cls(question, target, need, **how)
        found._keys = [found._taken_apart(key.copy()) for key in question.keys]
        for join in question.joins:
            found._require_one_owner(join)
            if not join.outer:
                matched = column(join.on[0][1], join.alias).is_(exp.null()).not_()
                found._part(found._owner_of(join)).conditions.append(matched)
        for part in (*conjuncts(question.where), *conjuncts(condition)):
            found._limit(part)
        if argument is not None:
            found._ask(argument)
        return found

    def _limit(self, condition: exp.Expr) -> None:
        if has_alternatives(condition):
            self._ways = True
            condition = condition.copy().transform(lambda n: in_each_way(n))
        owners = self._owners(condition)
        if len(owners) > 1:
            self._mixed.append(self._taken_apart(condition.copy()))
        else:
            self._part(next(iter(owners), EXACT)).conditions.append(condition)

    def _ask(self, argument: exp.Expr) -> None:
        if has_alternatives(argument):
            self._ways = True
            argument = argument.copy().transform(lambda n: in_each_way(n))
        owners = self._owners(argument)
        owner = next(iter(owners), EXACT)
        alone = len(owners) == 1 and owner != EXACT
        family, moments = self._family(owner), self.need == "moments"
        bare = alone and isinstance(argument, exp.Column) and not argument.table
        if bare and family == "boolean" and moments:
            argument, bare = cast(argument, "INTEGER"), False  # a sum counts what is true
        bare = bare or (alone and moments and family in NUMBERS and is_of_ends(argument))
        if moments and (factors := self._factors(argument)) is not None:
            for factor in factors:
                if self._owner(factor) == EXACT:
                    self._limit(exp.paren(factor.copy()).is_(exp.null()).not_())
                    self._value = self._taken_apart(factor.copy())
                else:
                    self._part(self._owner(factor)).measured = factor
            return
        if bare and (moments or (self.need == "order" and self._continuous(owner))):
            self._part(owner).measured = argument
            return
        self._limit(exp.paren(argument.copy()).is_(exp.null()).not_())
        if alone and moments:
            self._part(owner).measured = argument
        elif self.need != "presence":
            self._value = self._taken_apart(argument.copy())

    def _factors(self, argument: exp.Expr) -> tuple[exp.Column, exp.Column] | None:
        """The columns that an argument multiplies, where their ends and means are enough: columns
        of their own, of which one has values that cannot be listed."""
        sides = argument.iter_expressions() if isinstance(argument, exp.Mul) else ()
        factors = [s for s in sides if isinstance(s, exp.Column) and not s.table]
        owners = {self._owner(factor) for factor in factors}
        listed = not any(map(self._continuous, owners - {EXACT}))
        if len(owners) < 2 or listed or "boolean" in map(self._family, owners - {EXACT}):
            return None
        return factors[0], factors[1]

    def _family(self, owner: str) -> str:
        source = self.target.find(owner)
        return source.family if source is not None else "other"

    @property
    def _listed(self) -> bool:
        return self.need in ("order", "values")

    def _continuous(self, owner: str) -> bool:
        source = self.target.find(owner)
        scale = spread(source, ()).scale if source is not None else None
        return scale is not None and not scale.discrete

    @property
    def needs_values(self) -> bool:
        """Whether an item has a row for each value of the argument."""
        return self._listed and self._value is not None

    @property
    def ends_only(self) -> bool:
        """Whether single values were asked for, and only intervals are known."""
        return self._listed and self._value is None

    # -- who owns what -----------------------------------------------------------------------

    def _part(self, owner: str) -> Part:
        return self._parts.setdefault(owner, Part())

    def _owners(self, node: exp.Expr) -> set[str]:
        different = {(c.table, c.name): c for c in node.find_all(exp.Column)}
        return {self._owner(reference) for reference in different.values()}

    def _owner(self, reference: exp.Column) -> str:
        if reference.table == WAYS:
            return WAYS
        for join in self.question.joins:
            if reference.table == join.alias:
                return self._owner_of(join)
        source = self.target.find(reference.name)
        return EXACT if source is None or is_exact(source, self.target) else source.name

    def _owner_of(self, join: Join) -> str:
        """The column whose values decide the match; several are refused before."""
        owners = {self._owner(column(ours)) for ours, _ in join.on}
        return max(owners)

    def _require_one_owner(self, join: Join) -> None:
        owners = {self._owner(column(ours)) for ours, _ in join.on}
        if len(owners) > 1:
            names = ", ".join(sorted(owners - {EXACT}))
            raise DataError(
                "the query cannot be answered from the release: JOIN on several columns, of which "
                f"{names} may be generalized",
                hint="join on one released column, or ask without the joined table",
            )

    def _taken_apart(self, node: exp.Expr) -> exp.Expr:
        """The expression with its largest one-owner pieces replaced by references to them."""
        owners = self._owners(node)
        if owners == {WAYS}:
            return node
        if len(owners) == 1:
            return self._feature(owners.pop(), node)
        for child in _values_in(node):
            if self._owners(child):
                value = child
                if isinstance(node, exp.DateDiff) and isinstance(child, exp.Column):
                    value = self._period(child, node)
                child.replace(self._taken_apart(value))
        return node

    def _period(self, moment: exp.Column, difference: exp.DateDiff) -> exp.Expr:
        """The period of a moment that a difference of dates counts, by which it may be told."""
        source = None if moment.table else self.target.find(moment.name)
        unit = difference.args.get("unit")
        if source is None or source.family != "timestamp" or unit is None:
            return moment.copy()
        if unit.name.lower() not in UNITS and unit.name.lower() not in ("year", "quarter"):
            return moment.copy()
        return exp.TimestampTrunc(this=moment.copy(), unit=unit.copy())

    def _feature(self, owner: str, node: exp.Expr) -> exp.Column:
        features = self._part(owner).features
        if node not in features:
            features.append(node.copy())
        table = f"share_{self._place(owner)}" if owner else "released"
        return column(f"part_{features.index(node)}", table)

    def _place(self, owner: str) -> int:
        return list(self._parts).index(owner)

    # -- what is needed of each column --------------------------------------------------------

    @property
    def spreads(self) -> tuple[Spread, ...]:
        """The spread columns in the order of their tables share_1, share_2, …"""
        return tuple(
            self._spread(source, part)
            for owner, part in self._parts.items()
            if owner and (source := self.target.find(owner)) is not None
        )

    def _spread(self, source: Column, part: Part) -> Spread:
        uses = [*part.conditions, *part.features]
        ours = [t for join in self.question.joins for t, _ in join.on]
        joined = any(name.lower() == source.name.lower() for name in ours)
        if part.measured is not None and not is_of_ends(part.measured):
            uses.append(part.measured)
        # a joined table is met by single values
        return Spread(source, None) if joined else spread(source, uses)

    @property
    def joins_of_release(self) -> tuple[Join, ...]:
        """The tables that meet released records, not leaves."""
        return tuple(j for j in self.question.joins if self._owner_of(j) == EXACT)

    # -- emission --------------------------------------------------------------------------

    def outcomes(self, tables: CommonTables) -> Relation:
        """What each item may be, as a table of the query.

        Columns: item, the keys, records, weight, sure, ways, hits, mass, total, low, high; where
        values are needed also x, with a row for each.
        """
        weighing: list[Share] = []
        handing_on: list[Share] = []
        for place, used in enumerate(self.spreads, start=1):
            share = self._shared(tables, place, used)
            part = self._parts[used.column.name]
            weighs = not part.features and part.measured is None
            (weighing if weighs else handing_on).append(share)
        source = self.released
        of = source.key(weighing, handing_on)
        released = source.table(tables, weighing, handing_on)
        also = (of, tuple(self._keys), tuple(self._mixed), self._value, self.need)
        return tables.named("outcomes", also, lambda: self._met(released, handing_on))

    @property
    def released(self) -> Released:
        """The released records that it looks at."""
        return Released(
            self.target,
            self._parts[EXACT],
            self.joins_of_release,
            self.measures,
            self.need in ("moments", "order") and _of_released(self._value),
            self.doubtful,
            self.within,
            self.counted,
        )

    def parts_of_keys(self, source: Column) -> list[str]:
        """The columns of a spread column's table of shares that the keys are computed from."""
        table = f"share_{self._place(source.name)}"
        named = (c for key in self._keys for c in exp.paren(key.copy()).find_all(exp.Column))
        return list(dict.fromkeys(c.name for c in named if c.table == table))

    def limits(self, source: Column) -> bool:
        """Whether a spread column decides a condition alone."""
        return bool(self._part(source.name).conditions)

    def shares(self, tables: CommonTables) -> tuple[tuple[Spread, Relation], ...]:
        """Each spread column with its table of shares, of which a NULL is one nobody knows."""
        return tuple(
            (used, self._shared(tables, place, used).table)
            for place, used in enumerate(self.spreads, start=1)
        )

    def _shared(self, tables: CommonTables, place: int, used: Spread) -> Share:
        assert self.target.dictionary is not None
        part = self._parts[used.column.name]
        dictionary = self.target.dictionary
        joins = [j for j in self.question.joins if self._owner_of(j) == used.column.name]
        of = (used, tuple(part.conditions), tuple(part.features), part.measured)

        def shares(beside: CommonTables) -> exp.Query:
            return shares_of(_leaves(beside, used, dictionary), used, part, joins)

        if joins:  # which are no part of the dictionary
            share = tables.named("share", of, lambda: shares(tables))
        else:
            share = tables.kept("share", of, shares)
        return Share(used.column, place, share)

    def _met(self, released: Relation, handing_on: list[Share]) -> exp.Select:
        """The released records with the shares of their values, by key (and value of x)."""
        select = exp.select().from_(aliased(released, "released"), copy=False)
        mass: list[exp.Expr] = []
        ways: list[exp.Expr] = []
        for share in handing_on:
            select = share.joined(select, column(f"value_{share.place}", "released"))
            mass.append(share.weight)
            ways.append(column("ways", share.alias))
        if self._ways:
            select = select.join(three_ways(), join_type="CROSS", copy=False)
            mass.append(column("share", WAYS))
            ways.append(exp.Literal.number(3))
        if self._mixed:
            select = select.where(all_of(self._mixed), copy=False)
        groups: dict[str, exp.Expr] = {
            "item": column("item", "released"),
            **{key_name(place): key for place, key in enumerate(self._keys)},
        }
        if not self._keys:
            groups[WHOLE] = exp.Literal.number(0)
        if self.needs_values and self._value is not None:
            groups["x"] = self._value
        ends = self._ends(handing_on)
        one = {
            **{name: column(name, "released") for name in ("records", "weight", "sure")},
            "ways": product(ways) if ways else exp.Literal.number(1),
        }
        for place, measure in enumerate(self.measures):
            own = (held(name, place, "released") for name in measure.pieces)
            one |= {number.name: number for number in own}
        share_of = product(mass) if mass else double(1)
        total = share_of.copy() * ends.mean if ends.mean is not None else nothing()
        if self.told_apart:
            hit: exp.Expr = exp.Literal.number(1)
            given = {**one, "hits": hit, "mass": share_of, "total": total}
            given |= {"low": ends.low, "high": ends.high}
        else:
            given = {name: exp.AnyValue(this=node) for name, node in one.items()}
            given |= {"hits": exp.Count(this=exp.Star()), "mass": exp.Sum(this=share_of)}
            given |= {"total": exp.Sum(this=total), "low": exp.Min(this=ends.low)}
            given |= {"high": exp.Max(this=ends.high)}
        select = select.select(
            *(exp.alias_(node, identifier(name)) for name, node in (groups | given).items()),
            copy=False,
        )
        if self.told_apart:
            return select
        # a constant tells nothing apart; a number would be the place of a column
        names = [node.copy() for node in groups.values() if node.find(exp.Column)]
        return select.group_by(*names, copy=False)

    @property
    def told_apart(self) -> bool:
        """Whether an item has one row for each key: all that columns hand on are the keys."""
        handed = {
            (f"part_{number}", f"share_{self._place(owner)}" if owner else "released")
            for owner, part in self._parts.items()
            for number in range(len(part.features))
        }
        keys = {(k.name, k.table) for k in self._keys if isinstance(k, exp.Column)}
        return not self._mixed and self._value is None and handed <= keys

    def _ends(self, handing_on: list[Share]) -> _Ends:
        measured = [s for s in handing_on if self._parts[s.column.name].measured is not None]
        if measured:
            found: list[list[exp.Expr]] = [
                [column(name, s.alias) for name in _ENDS] for s in measured
            ]
            if self._value is not None:  # a factor that is released as it is
                found.append([cast(self._value.copy(), "DOUBLE") for _ in _ENDS])
            low, high, mean = reduce(multiplied, found)
            return _Ends(low, high, None if self._listed else mean)
        if self._value is None:
            return _Ends(nothing(), nothing(), None)
        if self._listed:
            return _Ends(self._value, self._value, None)
        value = cast(self._value.copy(), "DOUBLE")
        return _Ends(value, value, value)


def _leaves(tables: CommonTables, used: Spread, dictionary: Relation) -> Relation:
    """The leaves of a column's values; where a query cuts its range, only the values are kept."""

    def listed(beside: CommonTables) -> exp.Query:
        return values(used.column, dictionary)

    if used.cuts is not None:
        found = tables.kept("values", used.column, listed)
        return tables.named("leaves", used, lambda: leaves(found, used))

    def spread_out(beside: CommonTables) -> exp.Query:
        return leaves(beside.named("values", used.column, lambda: listed(beside)), used)

    return tables.kept("leaves", used, spread_out)


@dataclass(frozen=True)
class _Ends:
    """The argument's least and greatest value, and what is expected of it where that adds up."""

    low: exp.Expr
    high: exp.Expr
    mean: exp.Expr | None


_ENDS = ("low", "high", "mean")


def _of_released(value: exp.Expr | None) -> bool:
    """Whether a value is handed on by exact columns."""
    return isinstance(value, exp.Column) and value.table == "released"


def conjuncts(condition: exp.Expr | None) -> Iterable[exp.Expr]:
    """The parts of a condition that must all hold."""
    if condition is None:
        return ()
    if isinstance(condition, exp.Paren):
        return conjuncts(condition.this)
    if isinstance(condition, exp.And):
        return (*conjuncts(condition.this), *conjuncts(condition.expression))
    return (condition,)


def _values_in(node: exp.Expr) -> list[exp.Expr]:
    """The expressions that a value is computed from; a branch of CASE is none itself."""
    found: list[exp.Expr] = []
    for child in node.iter_expressions():
        branch = isinstance(node, exp.Case) and isinstance(child, exp.If)
        found += list(child.iter_expressions()) if branch else [child]
    return found
