"""SQL kept in `.sql` files: load a step and fill its typed holes on the syntax tree.

A step parses as DuckDB SQL and has three kinds of holes: tables `__rel__`, column lists `__qi__`
(wherever a column may stand), and values `$k`. Nothing is pasted into text, so a name can never
become SQL, and a list is only expanded where the tree has room for a list.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import sqlglot
from sqlglot import exp

from dbdeid.engine.expressions import Query, Value, column
from dbdeid.engine.relation import Relation


@cache
def text(path: str) -> str:
    """The text of one packaged file, for example ``text("steps/classes.sql")``."""
    return files("dbdeid.sql").joinpath(path).read_text(encoding="utf-8")


@cache
def parsed(path: str) -> exp.Expr:
    """The tree of a file of SQL with one statement, to be copied before anything is changed."""
    tree = sqlglot.parse_one(text(path), dialect="duckdb")
    for node in tree.walk():
        node._meta = None  # where it stood in the file: each copy of the tree would copy that
        node.comments = node.comments or None  # and a list of no comments, too
    return tree


def step(
    name: str,
    tables: Mapping[str, Relation | Query] | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    values: Mapping[str, Value] | None = None,
) -> Query:
    """The step `steps/<name>.sql` with its holes filled.

    Args:
        name: of the file below `sql/steps`, without ending, as in ``verify/told``.
        tables: relation or query for each table hole, keyed without underscores (`rel` fills
            `__rel__`).
        columns: column names for each column hole; several only where a list may stand.
        values: constants for each `$name`.

    Raises:
        ValueError: a hole is left open or filled with something that does not fit it.
    """
    tree = parsed(f"steps/{name}.sql").copy()
    assert isinstance(tree, exp.Query)
    left = []
    for node in list(tree.find_all(exp.Table, exp.Column, exp.Placeholder)):
        hole = node.name if isinstance(node, exp.Placeholder) else _hole(node)
        if hole is None:
            continue
        if isinstance(node, exp.Table) and tables and hole in tables:
            _fill_table(node, tables[hole], hole)
        elif isinstance(node, exp.Column) and columns and hole in columns:
            _fill_columns(node, columns[hole], hole)
        elif isinstance(node, exp.Placeholder) and values and hole in values:
            node.replace(exp.convert(values[hole]))
        else:
            left.append(hole)
    if left:
        raise ValueError(f"step {name}: unfilled holes {left}")
    return tree


def _hole(node: exp.Expr) -> str | None:
    if isinstance(node.this, exp.Identifier) and node.this.quoted:
        return None  # a name that was filled in, whatever it looks like
    name = node.name
    return name[2:-2] if name.startswith("__") and name.endswith("__") and len(name) > 4 else None


def _fill_table(node: exp.Table, given: Relation | Query, hole: str) -> None:
    filled = given.table if isinstance(given, Relation) else given.subquery(hole)
    if alias := node.args.get("alias"):
        filled.set("alias", alias.copy())
    node.replace(filled)


def _fill_columns(node: exp.Column, names: Sequence[str], hole: str) -> None:
    filled: list[exp.Expr] = [column(name, node.table or None) for name in names]
    outer = node.parent if isinstance(node.parent, exp.Ordered) else node
    if outer is not node:
        filled = [_ordered_like(outer, item) for item in filled]
    _replace_in_list(outer, filled, hole)


def _ordered_like(order: exp.Expr, item: exp.Expr) -> exp.Expr:
    copy = order.copy()
    copy.set("this", item)
    return copy


def _replace_in_list(node: exp.Expr, filled: list[exp.Expr], hole: str) -> None:
    holder = node.parent
    siblings = holder.args.get(node.arg_key or "") if holder else None
    if isinstance(siblings, list) and holder is not None and node.arg_key:
        at = next(i for i, sibling in enumerate(siblings) if sibling is node)
        holder.set(node.arg_key, siblings[:at] + filled + siblings[at + 1 :])
    elif len(filled) == 1:
        node.replace(filled[0])
    else:
        raise ValueError(f"__{hole}__ takes exactly one column here, not {len(filled)}")


def statements(script: str) -> list[exp.Expr | None]:
    """The statements of a text of the owner's, in DuckDB's dialect.

    Raises:
        sqlglot.errors.SqlglotError: it is no SQL.
    """
    logger = logging.getLogger("sqlglot")  # which tells of statements that it does not know
    before, logger.disabled = logger.disabled, True
    try:
        return sqlglot.parse(script, dialect="duckdb")
    finally:
        logger.disabled = before


def sql(query: exp.Expr, *, pretty: bool = False, own: bool = False) -> str:
    """DuckDB text of a syntax tree; its comments only where it is laid out for reading.

    Writing a tree changes it, so a copy is written unless it is the caller's own to give away.

    DuckDB turns Unicode spaces outside of quotes into blanks, and takes an apostrophe in a comment
    for the start of a quote: names and values that hold such a space would no longer be the same.
    """
    return query.sql(dialect="duckdb", pretty=pretty, comments=pretty, copy=not own)
