"""What SQL of an owner's says: the tables and columns that its tree names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dbdeid.engine.expressions import Expr, Query, Table, identifier, table_named

NotSql = SqlglotError
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Named:
    """A table as a query names it.

    Attributes:
        name: its own; empty of a function that stands where a table may.
        schema: as far as it is named, like the catalog.
        catalog: the database.
        given: the texts that such a function gets; None of a name.
    """

    name: str
    schema: str
    catalog: str
    given: tuple[str, ...] | None


def tables_in(tree: Expr) -> Iterator[Named]:
    """All that stands where tables do, names of common table expressions included."""
    for table in tree.find_all(exp.Table):
        given = None
        if not isinstance(table.this, exp.Identifier):
            texts = (one for one in table.this.find_all(exp.Literal) if one.is_string)
            given = tuple(
                one.name for one in texts if not one.find_ancestor(exp.EQ, exp.PropertyEQ)
            )
        yield Named(table.name, table.db, table.catalog, given)


def common_names(tree: Expr) -> frozenset[str]:
    """The names of its common table expressions, in lower case."""
    return frozenset(cte.alias.lower() for cte in tree.find_all(exp.CTE))


def view_query(tree: Expr | None) -> Expr | None:
    """The query of a statement that makes a view; None of any other."""
    return tree.expression if isinstance(tree, exp.Create) else None


def columns_in(tree: Expr) -> list[str]:
    """The name of each column wherever it stands."""
    return [found.name for found in tree.find_all(exp.Column)]


def is_column(node: Expr) -> bool:
    """Whether an expression is a column and nothing else."""
    return isinstance(node, exp.Column)


def is_qualified(node: Expr) -> bool:
    """Whether a part of an expression is a column with its table, or all columns of one."""
    if not isinstance(node, exp.Column):
        return False
    return len(node.parts) > 1 or not isinstance(node.this, exp.Identifier)


def with_columns(tree: Expr, meant: Callable[[str], Expr]) -> Expr:
    """An expression with something in place of each column, by its name."""
    return tree.transform(lambda n: meant(n.name) if isinstance(n, exp.Column) else n)


def with_null(tree: Query, name: str) -> Query:
    """A query with NULL in place of the columns of a name."""
    whole = tree.copy()
    for found in list(whole.find_all(exp.Column)):
        if found.name == name:
            found.replace(exp.null())
    return whole


def with_texts(tree: Query, changed: Callable[[str], str]) -> Query:
    """A query with other texts in place of those that it is written with."""
    whole = tree.copy()
    for text in whole.find_all(exp.Literal):
        if text.is_string:
            text.set("this", changed(text.this))
    return whole


def plain_table(text: str) -> tuple[str, str] | None:
    """Schema and name that a text says, as SQL reads it; None where it says anything else."""
    found = _table(text)
    if found is None or not {"this", "db"} >= {key for key, given in found.args.items() if given}:
        return None
    return (found.db or "main", found.name) if isinstance(found.this, exp.Identifier) else None


def table_of(text: str) -> Table:
    """The table that a text names, `schema.name` or a name with any signs, every part quoted."""
    found = _table(text)
    if found is None or ".".join(part.name for part in found.parts) != text:
        return table_named(text)
    return exp.Table(
        **{
            key: identifier(part.name)
            for key, part in zip(("this", "db", "catalog"), reversed(found.parts), strict=False)
        }
    )


def table_parts(text: str) -> tuple[str, ...]:
    """The parts of the name of a table, as SQL reads it, else as points divide it.

    >>> table_parts('clinic."Odd.One".visits')
    ('clinic', 'Odd.One', 'visits')
    """
    found = _table(text)
    if found is not None and isinstance(found.this, exp.Identifier):
        return tuple(part.name for part in found.parts)
    return tuple(text.split(".", 2))


def table_spelled(*parts: str) -> str:
    """The name that `table_parts` reads as these parts: in quotes where it has odd signs.

    >>> table_spelled("clinic", "Odd.One", "visits")
    'clinic."Odd.One".visits'
    """
    quoted = (p if _PLAIN.fullmatch(p) else '"' + p.replace('"', '""') + '"' for p in parts)
    return ".".join(quoted)


def _table(text: str) -> exp.Table | None:
    try:
        found = sqlglot.parse_one(text, into=exp.Table, dialect="duckdb")
    except SqlglotError:
        return None
    return found if isinstance(found, exp.Table) else None
