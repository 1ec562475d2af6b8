"""The SELECT list: what its items are called, and what a name that is no column means by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dbdeid.query.parse.expressions import Scope, bare, instead_of, refused, substituted
from dbdeid.query.parse.naming import shown_name

AGGREGATES = (exp.Filter, exp.Window, exp.WithinGroup, exp.AggFunc, exp.Placeholder)


@dataclass(frozen=True)
class Item:
    """One item of a SELECT list.

    Attributes:
        name: of the column that it makes.
        expression: itself, the aliases of earlier items replaced by what they name.
    """

    name: str
    expression: exp.Expr

    @property
    def aggregates(self) -> bool:
        """Whether it is computed from a group of records."""
        return has_aggregate(self.expression)


def has_aggregate(node: exp.Expr) -> bool:
    """Whether a group of records is needed to compute an expression."""
    return node.find(*AGGREGATES) is not None


def read_item(node: exp.Expr, earlier: Sequence[Item], scope: Scope, clause: str) -> Item:
    """One item as it is written.

    Raises:
        DataError: it holds a subquery, or a name that is not known.
    """
    inner = bare(node.unalias())
    if inner.find(exp.Query):
        raise refused(f"a subquery in {clause}", instead_of(exp.Subquery()))
    name = node.alias
    if not name and inner.find(exp.Placeholder):
        raise refused(f"a subquery without a name in {clause}", "name what it gives: … AS name")
    if not name and isinstance(inner, exp.Column):
        known = inner.table or scope.knows(inner)
        name = scope.find(inner, clause).name if known else inner.name
    return Item(name or shown_name(inner), expanded(inner, earlier, scope.knows))


def expanded(
    node: exp.Expr, items: Sequence[Item], hides: Callable[[exp.Column], bool] | None
) -> exp.Expr:
    """A copy with every alias of the SELECT list replaced by what it names.

    Args:
        node: as written.
        items: whose names may stand for them; of several with one name the first.
        hides: whether an unqualified name has another meaning that comes first; None: never.

    Raises:
        DataError: the expression becomes too long.
    """
    copy = exp.Paren(this=node.copy())
    found: list[tuple[exp.Column, exp.Expr]] = []
    for reference in copy.find_all(exp.Column):
        if reference.table or (hides is not None and hides(reference)):
            continue
        name = reference.name.lower()
        meaning = next((i.expression for i in items if i.name.lower() == name), None)
        if meaning is not None:
            found.append((reference, meaning))
    substituted(found, "SELECT")
    return bare(copy).copy()
