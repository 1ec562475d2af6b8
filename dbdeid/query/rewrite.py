"""Rewrite an analyst's COUNT(*) on the source into plain SQL on the release and its dictionary.

The answer is the expected count when every generalized value spreads uniformly over its leaves,
independently in each column. For each generalized column that the query uses, one small table made
from the dictionary says what share of a released value passes the conditions on that column alone.
The release is grouped before it meets these tables, except where many columns only filter: those
weigh the records first. Columns that a key or a condition mixes (an OR, a comparison of two
columns) hand on the parts of it that they decide alone.

Suppressed records are missing from the answer; kept ones are `*` and spread like any `*`. Where
some records are counterfeit, a record counts with the probability that it is real.
Uniform spread: Lee, Kim & Chung 2017, section 5; LeFevre et al. 2006, section 6.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce

from sqlglot import exp

from dbdeid.engine.relation import Column, Relation, column, identifier
from dbdeid.query.question import Answerable, Question, parse, replaced
from dbdeid.query.spread import LEAF, VALUE, Spread, leaves, refusal, source_type, spread, values


def rewrite(text: str, target: Answerable) -> exp.Expr:
    """The plain DuckDB query on the release that answers one query on the source.

    The count is a DOUBLE, keys have the source's type (ENUM as VARCHAR). It raises an error of
    the engine rather than guess where the dictionary does not tell what a value stands for;
    `answer.refuse_unanswerable` gives the reason before.

    Raises:
        DataError: the query is not of the supported form.
    """
    return estimate(parse(text, target), target)


def estimate(question: Question, target: Answerable) -> exp.Select:
    """The query of `rewrite` for a question that is already read."""
    return _Plan.of(question, target).query()


def spreads(question: Question, target: Answerable) -> tuple[Spread, ...]:
    """The generalized columns whose values the question needs."""
    return _Plan.of(question, target).spreads


EXACT = ""

# Grouping the release by so many columns leaves few groups and is cheaper than joining records
# with shares; grouping by more would leave nearly as many groups as records.
FEW = 2


def is_exact(source: Column, target: Answerable) -> bool:
    """Whether the release holds the column's own values, seen from its type alone."""
    released = target.release.find(source.name)
    generalized = {name.lower() for name in target.quasi_identifiers}
    return source.name.lower() not in generalized or (
        released is not None and released.family != "text"
    )


@dataclass
class _Part:
    """One spread column, or all exact columns together: its own conditions, what it hands on."""

    conditions: list[exp.Expr] = field(default_factory=list)
    features: list[exp.Expr] = field(default_factory=list)


@dataclass
class _Plan:
    """The question taken apart by the columns that own its pieces."""

    question: Question
    target: Answerable
    parts: dict[str, _Part]
    keys: list[exp.Expr]
    mixed: list[exp.Expr]

    @classmethod
    def of(cls, question: Question, target: Answerable) -> _Plan:
        plan = cls(question, target, {EXACT: _Part()}, [], [])
        plan.keys = [plan._taken_apart(key.copy()) for key in question.keys]
        for condition in _conjuncts(question.where):
            owners = plan._owners(condition)
            if len(owners) > 1:
                plan.mixed.append(plan._taken_apart(condition.copy()))
            else:
                plan._part(next(iter(owners), EXACT)).conditions.append(condition)
        return plan

    def _part(self, owner: str) -> _Part:
        return self.parts.setdefault(owner, _Part())

    def _owners(self, node: exp.Expr) -> set[str]:
        return {self._owner(reference.name) for reference in node.find_all(exp.Column)}

    def _owner(self, name: str) -> str:
        source = self.target.find(name)
        return EXACT if source is None or is_exact(source, self.target) else source.name

    def _taken_apart(self, node: exp.Expr) -> exp.Expr:
        """The expression with its largest one-owner pieces replaced by references to them."""
        owners = self._owners(node)
        if len(owners) == 1:
            return self._feature(owners.pop(), node)
        for child in list(node.iter_expressions()):
            if self._owners(child):
                child.replace(self._taken_apart(child.copy()))
        return node

    def _feature(self, owner: str, node: exp.Expr) -> exp.Column:
        features = self._part(owner).features
        if node not in features:
            features.append(node)
        table = f"share_{self._place(owner)}" if owner else "released"
        return column(f"part_{features.index(node)}", table)

    def _place(self, owner: str) -> int:
        return list(self.parts).index(owner)

    @property
    def spreads(self) -> tuple[Spread, ...]:
        """The spread columns in the order of their tables share_1, share_2, …"""
        return tuple(
            spread(source, [*part.conditions, *part.features])
            for owner, part in self.parts.items()
            if owner and (source := self.target.find(owner)) is not None
        )

    # -- emission --------------------------------------------------------------------------

    def query(self) -> exp.Select:
        """All shares, the release weighted and grouped by them, and the answer from both."""
        tables: dict[str, exp.Expr] = {}
        weighing: list[_Share] = []
        handing_on: list[_Share] = []
        for place, used in enumerate(self.spreads, start=1):
            part = self.parts[used.column.name]
            tables[f"values_{place}"] = values(used.column, self.target.dictionary)
            tables[f"leaves_{place}"] = leaves(self._named(f"values_{place}"), used)
            tables[f"share_{place}"] = _shares(self._named(f"leaves_{place}"), part)
            share = _Share(used.column, place, self._named(f"share_{place}"))
            weighs = not part.features and len(self.spreads) > FEW
            (weighing if weighs else handing_on).append(share)
        tables["released"] = self._released(weighing, handing_on)
        select = exp.select().from_(_aliased(self._named("released"), "released"))
        records: exp.Expr = column("records", "released")
        for share in handing_on:
            select = share.joined(select, column(f"value_{share.place}", "released"))
            records = records * share.weight
        select = self._answered(select, exp.cast(_total(records), "DOUBLE"))
        for name, query in tables.items():
            select = select.with_(identifier(self._named(name).name), as_=query)
        return select

    def _answered(self, select: exp.Select, count: exp.Expr) -> exp.Select:
        meaning: dict[int | None, exp.Expr] = {None: count, **dict(enumerate(self.keys))}
        for output in self.question.outputs:
            item = meaning[output.key].copy()
            select = select.select(exp.alias_(item, identifier(output.name)))
        for condition in self.mixed:
            select = select.where(condition)
        if self.keys:
            select = select.group_by(*(key.copy() for key in self.keys))
        for order in self.question.order:
            term = exp.Ordered(
                this=meaning[order.key].copy(),
                desc=order.descending,
                nulls_first=order.nulls_first,
            )
            select = select.order_by(term)
        return select if self.question.limit is None else select.limit(self.question.limit)

    def _released(self, weighing: list[_Share], handing_on: list[_Share]) -> exp.Select:
        """The release grouped by what is handed on, each record weighted by the other shares."""
        part = self.parts[EXACT]
        groups = {
            **{f"value_{s.place}": column(s.column.name, "source") for s in handing_on},
            **{f"part_{i}": self._of_release(node) for i, node in enumerate(part.features)},
        }
        select = exp.select(
            *(exp.alias_(group, identifier(label)) for label, group in groups.items())
        ).from_(_aliased(self.target.release, "source"))
        for condition in part.conditions:
            select = select.where(self._of_release(condition))
        for share in weighing:
            select = share.joined(select, column(share.column.name, "source"))
        weights = [share.weight for share in weighing]
        if self.target.weight is not None:
            weights.append(column(self.target.weight, "source"))
        records = exp.Sum(this=_product(weights)) if weights else exp.Count(this=exp.Star())
        select = select.select(exp.alias_(records, "records"))
        return select.group_by(*(g.copy() for g in groups.values())) if groups else select

    def _of_release(self, node: exp.Expr) -> exp.Expr:
        """An expression of exact columns, in the types of the source."""
        return replaced(node, self._exact)

    def _exact(self, name: str) -> exp.Expr:
        reference = column(name, "source")
        source, released = self.target.find(name), self.target.release.find(name)
        if source is None or released is None or source.type == released.type:
            return reference
        return exp.cast(reference, source_type(source))

    def _named(self, name: str) -> Relation:
        """A table of the query, named apart from the release and the dictionary."""
        taken = {self.target.release.name.lower(), self.target.dictionary.name.lower()}
        while name in taken:
            name = f"{name}_"
        return Relation(name)


def _aliased(relation: Relation, name: str) -> exp.Table:
    table = relation.table
    table.set("alias", exp.TableAlias(this=identifier(name)))
    return table


def _total(records: exp.Expr) -> exp.Expr:
    return exp.func("COALESCE", exp.Sum(this=records), exp.Literal.number(0))


def _product(weights: list[exp.Expr]) -> exp.Expr:
    return reduce(lambda left, right: left * right, weights)


@dataclass(frozen=True)
class _Share:
    """The table of one column's shares, as it is joined to released values."""

    column: Column
    place: int
    table: Relation

    @property
    def weight(self) -> exp.Expr:
        """The share of a value; a value that the dictionary lacks stops the query."""
        unknown = refusal(self.column, "is not in the dictionary")
        return exp.Coalesce(this=column("share", self._alias), expressions=[unknown])

    @property
    def _alias(self) -> str:
        return f"share_{self.place}"

    def joined(self, select: exp.Select, value: exp.Expr) -> exp.Select:
        """The query with the share of each value, without the values that have none."""
        same = exp.NullSafeEQ(this=value, expression=column("value", self._alias))
        joined = select.join(_aliased(self.table, self._alias), on=same, join_type="LEFT")
        return joined.where(self.weight > 0)


def _shares(spread_over: Relation, part: _Part) -> exp.Select:
    """What share of each value passes the column's conditions, by the parts it hands on."""
    groups = [VALUE.copy(), *(_of_leaf(feature) for feature in part.features)]
    weight: exp.Expr = column("weight", "spread")
    if part.conditions:
        passes = exp.and_(*(_of_leaf(condition) for condition in part.conditions))
        weight = exp.case().when(passes, weight).else_(exp.Literal.number(0))
    share = exp.Sum(this=weight) / exp.AnyValue(this=column("size", "spread"))
    parts = [exp.alias_(g.copy(), f"part_{i}") for i, g in enumerate(groups[1:])]
    return (
        exp.select(VALUE.copy(), *parts, exp.alias_(share, "share"))
        .from_(_aliased(spread_over, "spread"))
        .group_by(*groups)
    )


def _of_leaf(node: exp.Expr) -> exp.Expr:
    return replaced(node, lambda _: LEAF.copy())


def _conjuncts(where: exp.Expr | None) -> Iterable[exp.Expr]:
    if where is None:
        return ()
    if isinstance(where, exp.Paren):
        return _conjuncts(where.this)
    if isinstance(where, exp.And):
        return (*_conjuncts(where.this), *_conjuncts(where.expression))
    return (where,)
