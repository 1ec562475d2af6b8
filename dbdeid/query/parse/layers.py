"""SELECTs of SELECTs that group: names, order and limits around them, in place of a query of one.

BI tools put a query into parentheses and select from it. Where the outer one only names, computes,
filters and sorts what the inner one shows of its groups, both are one question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dbdeid.errors import did_you_mean
from dbdeid.query.parse.aliases import Item, has_aggregate
from dbdeid.query.parse.expressions import UNKNOWN, bare, refused, substituted
from dbdeid.query.parse.naming import shown_name
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
    inner = with_terms(read, terms)
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
