"""What an analyst asks: aggregates over groups of records, as frozen values.

Expressions are sqlglot trees. A column of the source is `column(name)`, spelled as in the source; a
column of a joined table is `column(name, join.alias)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Literal

from sqlglot import exp

from dbdeid.engine.expressions import column
from dbdeid.engine.relation import Relation

Kind = Literal[
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "distinct",
    "quantile_cont",
    "quantile_disc",
    "var_pop",
    "var_samp",
    "rank",
    "dense_rank",
    "row_number",
    "running_sum",
    "lag",
    "lead",
    "arg_max",
    "arg_min",
]


@dataclass(frozen=True)
class Join:
    """An ordinary table that adds its columns to each record, by a key that is unique in it.

    Attributes:
        alias: the name under which the question's expressions refer to its columns.
        table: the table with its columns.
        on: pairs (column of the source, column of the table) that must be equal.
        outer: a LEFT JOIN: records without a match stay, with NULL.
    """

    alias: str
    table: Relation
    on: tuple[tuple[str, str], ...]
    outer: bool


@dataclass(frozen=True)
class Among:
    """The records of an aggregate, where they are not those of its group alone.

    Attributes:
        keys: places of the question's keys; records of groups that have these keys alike count.
        joins: ordinary tables.
        where: the condition on records.
    """

    keys: tuple[int, ...]
    joins: tuple[Join, ...] = ()
    where: exp.Expr | None = None


@dataclass(frozen=True)
class Order:
    """One term of ORDER BY, over placeholders as in `Question.having`."""

    term: exp.Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Over:
    """A window over the groups of the answer, in an order.

    Attributes:
        shown: what is summed up, or handed on from another group, over placeholders of aggregates;
            of ranks, what they go by.
        keys: places of the question's keys; groups that have them alike are looked at together.
        order: of the groups.
        distance: of LAG and LEAD, in groups.
        by_rows: of sums, whether equals in that order are summed up one after the other.
    """

    shown: exp.Expr
    keys: tuple[int, ...]
    order: tuple[Order, ...]
    distance: int = 1
    by_rows: bool = False


@dataclass(frozen=True)
class Grouped:
    """Groups of records that an aggregate is of, each of which counts once.

    Attributes:
        keys: what they are grouped by, beside the keys of the question, which are made of them.
        aggregates: of each of them.
        value: of a group, over placeholders of its keys and aggregates; None: the group itself.
        condition: which of them count, over the same placeholders; None: all.
    """

    keys: tuple[exp.Expr, ...]
    aggregates: tuple[Aggregate, ...]
    value: exp.Expr | None = None
    condition: exp.Expr | None = None

    def named(self, node: exp.Expr | None) -> list[Aggregate]:
        """The aggregates whose placeholders stand in an expression."""
        found = exp.paren(node.copy()).find_all(exp.Column) if node is not None else ()
        places = {c.name: None for c in found if c.name.startswith("aggregate_")}
        return [self.aggregates[aggregate_place(name)] for name in places]


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of the question.

    Attributes:
        kind: `count` without an argument is COUNT(*); `distinct` is COUNT(DISTINCT argument). Of
            groups, `arg_max` and `arg_min` are their first key where their value is the greatest,
            or the least.
        argument: a scalar expression of one record; None only for COUNT(*).
        condition: that of its FILTER.
        among: the records that it is of; None for those of its group.
        fraction: which quantile; None of other kinds.
        over: the window that it is; None of others.
        groups: what it is of in place of records; None of others.
    """

    kind: Kind
    argument: exp.Expr | None = None
    condition: exp.Expr | None = None
    among: Among | None = None
    fraction: Fraction | None = None
    over: Over | None = None
    groups: Grouped | None = None

    @property
    def is_most_records(self) -> bool:
        """Whether it is the greatest number of records that any of its groups has."""
        if self.kind != "max" or self.groups is None or self.groups.condition is not None:
            return False
        value = self.groups.value
        return isinstance(value, exp.Column) and self.groups.named(value) == [Aggregate("count")]

    @property
    def records(self) -> Aggregate:
        """How many records, or groups, it is of."""
        own = (self.argument, self.condition, self.among)
        return Aggregate("count", *own, groups=self.groups)


@dataclass(frozen=True)
class Output:
    """One column of the answer: a key, what is shown of aggregates, or a constant.

    Attributes:
        name: the column's name.
        key: the key's place; None for others, and for a key that a total lacks.
        shown: an expression of `column(aggregate_name(place))`, as of ROUND(AVG(x), 1) * 100 or
            SUM(x) / SUM(y); None for others.
        label: a constant, the same in each row; None for others.
    """

    name: str
    key: int | None = None
    shown: exp.Expr | None = None
    label: exp.Expr | None = None

    @classmethod
    def of(cls, name: str, place: int) -> Output:
        """An aggregate itself."""
        return cls(name, shown=column(aggregate_name(place)))

    @property
    def aggregates(self) -> list[int]:
        """The places of the aggregates that are shown."""
        named = self.shown.find_all(exp.Column) if self.shown is not None else ()
        return [aggregate_place(reference.name) for reference in named]


@dataclass(frozen=True)
class Question:
    """A checked question.

    Attributes:
        keys: what records are grouped by; () is one group of all records.
        aggregates: distinct.
        outputs: the columns of the answer, in order.
        joins: ordinary tables.
        where: the condition on records.
        having: the condition on groups, over `column("key_0")`, …, `column("aggregate_0")`, …
        order: how the answer is sorted.
        limit: how many rows are wanted.
        offset: how many rows come before them.
    """

    keys: tuple[exp.Expr, ...]
    aggregates: tuple[Aggregate, ...]
    outputs: tuple[Output, ...]
    joins: tuple[Join, ...] = ()
    where: exp.Expr | None = None
    having: exp.Expr | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int | None = None

    @property
    def every_join(self) -> tuple[Join, ...]:
        """The ordinary tables of all its aggregates, each once."""
        others = [a.among.joins for a in self.aggregates if a.among is not None]
        return tuple(dict.fromkeys(chain(self.joins, *others)))

    @property
    def stable_order(self) -> tuple[Order, ...]:
        """How the answer is sorted, equals by the keys: which of them come first is no chance."""
        if not self.order and self.limit is None and self.offset is None:
            return ()
        keys = (column(key_name(place)) for place in range(len(self.keys)))
        terms = [order.term for order in self.order]
        return (*self.order, *(Order(key, False, False) for key in keys if key not in terms))

    @property
    def rough(self) -> bool:
        """Whether bounds may be far apart even where all columns are released as they are."""
        shown = (output.shown for output in self.outputs if output.shown is not None)
        of_groups = any(one.groups is not None for one in self.aggregates)
        return of_groups or any(node.find(exp.Anonymous) for node in shown)

    def of(self, aggregate: Aggregate) -> Question:
        """The question with the keys and the records of one aggregate."""
        among = aggregate.among
        if among is None:
            return self
        keys = tuple(self.keys[place] for place in among.keys)
        return replace(self, keys=keys, joins=among.joins, where=among.where)

    def is_total(self, total: Aggregate, *, of: Aggregate) -> bool:
        """Whether a count or a sum is of all the records of another one, whatever they are.

        It is so of `COUNT(*) / SUM(COUNT(*)) OVER ()`, of `SUM(x) FILTER (…) / SUM(x)`, and of
        `COUNT(*) / (SELECT COUNT(*) FROM …)` where that has no condition or the same.
        """
        plain = of.among is None and of.groups is None and total.groups is None
        if not plain or total == of or total.kind != of.kind or total.kind not in ("count", "sum"):
            return False
        all_values = (None, of.argument) if total.kind == "count" else (of.argument,)
        if total.argument not in all_values or total.condition not in (None, of.condition):
            return False
        among = total.among
        if among is None:
            return True
        return (among.joins, among.where) in ((self.joins, self.where), ((), None))

    def below(self, aggregate: Aggregate) -> Question:
        """The question about the groups that an aggregate is of; their own keys come first.

        Its last aggregate tells whether there is such a group: with what chance, whether for sure.
        """
        groups = aggregate.groups
        assert groups is not None
        used = [*groups.named(groups.value), *groups.named(groups.condition)]
        of = (one.records for one in used if one.kind not in ("count", "distinct"))
        there = Aggregate("distinct", exp.Literal.number(1))
        own = self.of(aggregate)
        keys = (*groups.keys, *own.keys)
        found = Question(keys, (), (), own.joins, own.where)
        together = [found.together(groups)] if aggregate.is_most_records else []
        asked = (*groups.aggregates, *of, *together, there)
        shown: tuple[Output, ...] = ()
        if groups.value is not None and groups.named(groups.value):
            added = aggregate.kind in ("sum", "avg")  # which numbers alone are
            value = exp.paren(groups.value.copy()) if added else groups.value
            shown = (Output("value", shown=value),)
        return replace(found, aggregates=tuple(dict.fromkeys(asked)), outputs=shown)

    def together(self, groups: Grouped) -> Aggregate:
        """How many records all the groups have of which this question is about each."""
        keys = tuple(range(len(groups.keys), len(self.keys)))
        return Aggregate("count", among=Among(keys, self.joins, self.where))


def key_name(place: int) -> str:
    """The placeholder of a key."""
    return f"key_{place}"


def aggregate_name(place: int) -> str:
    """The placeholder of an aggregate."""
    return f"aggregate_{place}"


def aggregate_place(name: str) -> int:
    """The place of an aggregate's placeholder."""
    return int(name.removeprefix("aggregate_"))


def replaced(node: exp.Expr, reference: Callable[[exp.Column], exp.Expr]) -> exp.Expr:
    """A copy of a question's expression with every column replaced by what is given for it."""
    return node.transform(lambda n: reference(n) if isinstance(n, exp.Column) else n)


def of_source(name: str) -> exp.Column:
    """A reference to a column of the source."""
    return column(name)
