"""SELECTs of SELECTs that group: names, order and limits around them, in place of a query of one.

BI tools put a query into parentheses and select from it. Where the outer one only names, computes,
filters and sorts what the inner one shows of its groups, both are one question. Where it groups
them again, its aggregates are of groups in place of records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from dbdeid.errors import did_you_mean
from dbdeid.query.parse.aliases import Item, has_aggregate
from dbdeid.query.parse.expressions import (
    UNKNOWN,
    Named,
    Range,
    Scope,
    bare,
    instead_of,
    named,
    refused,
    substituted,
)
from dbdeid.query.parse.groups import Groups
from dbdeid.query.parse.naming import shown_name
from dbdeid.query.parse.question import Aggregate, Grouped, Kind, aggregate_place, key_name
from dbdeid.query.parse.statement import only, within


@dataclass(frozen=True)
class Below:
    """The SELECT of groups that FROM of another one reads, and what it is called there."""

    select: exp.Select
    alias: str


def of_groups(select: exp.Select) -> Below | None:
    """The SELECT of groups that a SELECT reads; None where it reads records."""
    source = select.args.get("from_")
    joins = select.args.get("joins") or (source is not None and source.this.args.get("joins"))
    if source is None or joins:
        return None
    given = select.args.get("with_")
    terms = list(given.expressions) if given is not None else []
    read: exp.Expr | None = None
    if isinstance(source.this, exp.Subquery):
        only(source.this, {"this", "alias"}, " of a subquery in FROM")
        read = within(source.this.this)
    elif isinstance(source.this, exp.Table) and len(source.this.parts) == 1:
        for place, term in reversed(list(enumerate(terms))):
            if term.alias.lower() == source.this.name.lower():
                only(term, {"this", "alias", "materialized"}, f" in WITH {term.alias}")
                read, terms = within(term.this), terms[:place]
                break
    if not isinstance(read, exp.Select):
        return None
    inner = _grouped(with_terms(read, terms))
    if not _groups(inner) and of_groups(inner) is None:
        return None
    alias = source.this.args.get("alias")
    if alias is not None and alias.columns:
        raise refused("column aliases in FROM", "name columns in a SELECT: … AS name")
    return Below(inner, source.this.alias_or_name)


def with_terms(select: exp.Select, terms: Sequence[exp.Expr]) -> exp.Select:
    """A copy of a SELECT that knows common table expressions, besides its own."""
    inner = select.copy()
    own = inner.args.get("with_")
    if terms:
        known = [*(t.copy() for t in terms), *(own.expressions if own is not None else ())]
        inner.set("with_", exp.With(expressions=known))
    return inner


def _grouped(select: exp.Select) -> exp.Select:
    """SELECT DISTINCT of records as the groups by all that it shows."""
    given = select.args.get("distinct")
    if given is None or given.args.get("on") or _groups(select):
        return select
    select.set("distinct", None)
    select.set("group", exp.Group(all=True))
    return select


def _groups(select: exp.Select) -> bool:
    shown = any(has_aggregate(node) for node in select.expressions if not node.find(exp.Query))
    return shown or select.args.get("group") is not None


@dataclass(frozen=True)
class Layer:
    """What a SELECT of groups shows, by name, for the SELECT around it."""

    alias: str
    shown: Mapping[str, Item]

    @classmethod
    def of(cls, alias: str, items: Sequence[Item]) -> Layer:
        """The names of items.

        Raises:
            DataError: two of them share one.
        """
        names: dict[str, Item] = {}
        for item in items:
            if names.setdefault(item.name.lower(), item) is not item:
                raise refused(f"two columns named {item.name} in a subquery", "name them apart")
        return cls(alias, names)

    def items(self, nodes: Sequence[exp.Expr]) -> list[Item]:
        """The SELECT list around it."""
        found: list[Item] = []
        for node in nodes:
            star = node.this if isinstance(node, exp.Column) else node
            if isinstance(star, exp.Star):
                self._require(node.text("table"), "SELECT")
                only(star, {"except_"}, " after *")
                hidden = {name.name.lower() for name in star.args.get("except_") or ()}
                found += [item for name, item in self.shown.items() if name not in hidden]
                continue
            inner = bare(node.unalias())
            meant = self.meaning(inner, found, "SELECT")
            name = node.alias
            if not name and isinstance(inner, exp.Column):
                item = self.shown.get(inner.name.lower())
                name = item.name if item is not None else inner.name
            found.append(Item(name or shown_name(inner), meant))
        return found

    def meaning(
        self, node: exp.Expr, items: Sequence[Item], clause: str, *, alias_first: bool = False
    ) -> exp.Expr:
        """An expression of what is shown, over the records below.

        Args:
            node: as written.
            items: of the SELECT list around, whose names may stand for them.
            clause: where it stands.
            alias_first: whether a name is an item's before it is one of the layer.

        Raises:
            DataError: a name is not known, or it holds a subquery.
        """
        if node.find(exp.Query):
            raise refused(f"a subquery in {clause}")
        copy = exp.Paren(this=node.copy())
        found: list[tuple[exp.Column, exp.Expr]] = []
        for reference in copy.find_all(exp.Column):
            self._require(reference.table, clause)
            name = reference.name.lower()
            own = next((i for i in items if i.name.lower() == name and not reference.table), None)
            below = self.shown.get(name)
            item = (own or below) if alias_first else (below or own)
            if item is None:
                hint = did_you_mean(reference.name, {i.name for i in self.shown.values()})
                raise refused(f"{clause} names {reference.name}, which its subquery lacks", hint)
            found.append((reference, item.expression))
        substituted(found, clause)
        return bare(copy).copy()

    def _require(self, qualifier: str, clause: str) -> None:
        if qualifier and qualifier.lower() != self.alias.lower():
            raise refused(f"{clause} names {qualifier}: unknown table", UNKNOWN)

    def keys(self, groups: Groups) -> Scope:
        """The keys of its groups, as columns of the records below."""
        shown = [
            Named(item.name, groups.scope.scalar(item.expression, "SELECT"))
            for item in self.shown.values()
            if not item.aggregates
        ]
        return Scope((Range.of([self.alias] if self.alias else [], shown),))


@dataclass
class Regroups(Groups):
    """The keys and aggregates of groups that are grouped again.

    Attributes:
        below: what is known of the groups that are read.
        layer: what they are called.
        condition: which of them are read, over placeholders of `below`.
    """

    below: Groups = field(kw_only=True)
    layer: Layer = field(kw_only=True)
    condition: exp.Expr | None = None

    def _over_groups(self, window: exp.Window) -> Aggregate:
        raise refused("a window over groups of groups", instead_of(window))

    def _aggregate(self, node: exp.Expr) -> Aggregate:
        conditions = [] if self.condition is None else [self.condition]
        if isinstance(node, exp.Filter):
            conditions.append(self._condition(node.expression.this))
            node = node.this
        node = _counted(node)
        if isinstance(node, exp.CountIf):
            conditions.append(self._condition(node.this))
            return self._of("count", None, conditions)
        kind = _OF_GROUPS.get(type(node))
        if kind is None:
            raise refused(f"{named(node)} of groups", instead_of(node, _INSTEAD))
        if any(value for clause, value in node.args.items() if clause not in ("this", "big_int")):
            raise refused(f"{kind.upper()} of more than one argument")
        argument = node.this
        if kind == "count" and (argument is None or isinstance(bare(argument), _PRESENT)):
            return self._of("count", None, conditions)
        if isinstance(argument, exp.Distinct):
            if kind != "count" or len(argument.expressions) != 1:
                raise refused(f"{kind.upper()}(DISTINCT …) of groups", _INSTEAD)
            kind, argument = "distinct", argument.expressions[0]
        meant = self.layer.meaning(argument, [], kind.upper())
        if not has_aggregate(meant):
            return self._of_key(kind, meant, conditions)
        if kind == "distinct":
            raise refused("COUNT(DISTINCT …) of an aggregate of groups", _INSTEAD)
        value = bare(self.below.shown(meant))
        if not conditions and (same := self._of_records(kind, value)) is not None:
            return same
        return self._of(kind, value, conditions)

    def _condition(self, node: exp.Expr) -> exp.Expr:
        return self.below.term(self.layer.meaning(node, [], "FILTER"), "FILTER")

    def _of(self, kind: Kind, value: exp.Expr | None, conditions: Sequence[exp.Expr]) -> Aggregate:
        if any(one.over is not None or one.among is not None for one in self.below.aggregates):
            raise refused("an aggregate of windows or totals of groups", _INSTEAD)
        condition = exp.and_(*conditions) if conditions else None
        keys, aggregates = tuple(self.below.keys), tuple(self.below.aggregates)
        return Aggregate(kind, groups=Grouped(keys, aggregates, value, condition))

    def _of_key(self, kind: Kind, meant: exp.Expr, conditions: Sequence[exp.Expr]) -> Aggregate:
        """An aggregate of a key, which is that of all records where no group is left out."""
        key = self.below.scope.scalar(meant, "SELECT")
        if kind in ("min", "max", "distinct") and not conditions:
            return Aggregate(kind, key)
        if kind not in ("min", "max", "count") or key not in self.below.keys:
            raise refused(f"{kind.upper()} of a key of groups", _INSTEAD)
        return self._of(kind, exp.column(key_name(self.below.keys.index(key))), conditions)

    def _of_records(self, kind: Kind, value: exp.Expr) -> Aggregate | None:
        """The aggregate of records that one of all groups is: a sum of sums is one sum."""
        if not isinstance(value, exp.Column):
            return None
        one = self.below.aggregates[aggregate_place(value.name)]
        if one.over is not None or one.among is not None or one.groups is not None:
            return None
        if kind == one.kind and kind in ("sum", "min", "max"):
            return one
        if kind != "sum" or one.kind != "count":
            return None
        known: list[exp.Expr] = [] if one.condition is None else [one.condition]
        if one.argument is not None:
            known.append(exp.paren(one.argument).is_(exp.null()).not_())
        counted: exp.Expr = exp.Literal.number(1)
        if known:
            none = exp.Literal.number(0)
            counted = exp.case().when(exp.and_(*known), counted).else_(none)
        return Aggregate("sum", counted)


def _counted(node: exp.Expr) -> exp.Expr:
    """SUM(CASE WHEN … THEN 1 ELSE 0 END) as what it is; other nodes themselves."""
    case = bare(node.this) if isinstance(node, exp.Sum) else None
    if not isinstance(case, exp.Case) or case.this is not None or len(case.args["ifs"]) != 1:
        return node
    (branch,), default = case.args["ifs"], case.args.get("default")
    one, none = exp.Literal.number(1), exp.Literal.number(0)
    if bare(branch.args["true"]) != one or default is None or bare(default) != none:
        return node
    return exp.CountIf(this=branch.this.copy())


def refuse_values_as_keys(nodes: Iterable[exp.Expr], layer: Layer) -> None:
    """Refuse to group groups by what is computed from their records.

    Raises:
        DataError: which column that would be.
    """
    for node in nodes:
        for reference in exp.paren(node.copy()).find_all(exp.Column):
            item = layer.shown.get(reference.name.lower())
            inside = reference.find_ancestor(exp.AggFunc, exp.Filter) is not None
            if item is not None and item.aggregates and not inside:
                raise refused(
                    f"groups of groups by {item.name}, which is an aggregate",
                    "count groups by condition: COUNT(*) FILTER (WHERE n BETWEEN 10 AND 20)",
                )


_PRESENT = (exp.Star, exp.Literal, exp.Boolean)
_OF_GROUPS: dict[type[exp.Expr], Kind] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}
_INSTEAD = "of groups there are COUNT, SUM, AVG, MIN and MAX; ask for the groups themselves"
