"""A rewritten query as SQL of other engines that gives the same answers there.

Every kind of node has a rule or is known to mean the same; what has neither is refused by name. The
tables of release and dictionary are there under the same names, `leaves` a list of text, timestamps
without time zone. What stops a query in DuckDB stops it there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types

from dbdeid.engine.expressions import identifier
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError
from dbdeid.query.dialects import postgres, spark
from dbdeid.query.dialects.translation import DAYS, Rule, Unknown, of_type
from dbdeid.query.parse.expressions import named

Dialect = Literal["duckdb", "spark", "postgres"]

_RULES: Mapping[str, Mapping[type[exp.Expr], Rule]] = {
    "postgres": postgres.RULES,
    "spark": spark.RULES,
}
_ENGINES = {"postgres": "PostgreSQL", "spark": "Spark"}

# What means the same in all three engines, given operands that do.
_COMMON = (
    *(exp.With, exp.CTE, exp.Select, exp.Subquery, exp.Union, exp.From, exp.Join, exp.Where),
    *(exp.Group, exp.Having, exp.Order, exp.Limit, exp.WindowSpec, exp.Alias, exp.TableAlias),
    *(exp.Table, exp.Star, exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null),
    *(exp.Var, exp.DataTypeParam, exp.Count, exp.Sum, exp.Distinct, exp.DenseRank, exp.RowNumber),
    *(exp.And, exp.Or, exp.Not, exp.Paren, exp.NullSafeEQ, exp.NullSafeNEQ, exp.EQ, exp.NEQ),
    *(exp.In, exp.Is, exp.Neg, exp.Mul, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Abs),
    *(exp.Sign, exp.Length, exp.Replace, exp.Array, exp.Explode),
    *(exp.Escape, exp.Interval, exp.StrPosition),
)


def unplaced(query: exp.Query) -> exp.Query:
    """The query with tables named as if they were alone."""
    plain = query.copy()
    for table in plain.find_all(exp.Table):
        table.set("catalog", None)
        table.set("db", None)
    return plain


def transpiled(query: exp.Expr, dialect: Dialect, *, pretty: bool = True) -> str:
    """The text of a rewritten query in the dialect of an engine.

    Spark is to run in ANSI mode, the default of its version 4: else it answers NULL where a cast or
    a division fails. Of PostgreSQL version 14 or newer is meant.

    Args:
        query: as `rewrite.estimate` gives it.
        dialect: that of the engine.
        pretty: laid out for reading.

    Raises:
        DataError: the query holds something of which no equal is known there; it is named.
    """
    if dialect == "duckdb":
        return sql(query, pretty=pretty)
    tree, rules = typed(query), _RULES[dialect]
    for node in reversed(list(tree.bfs())):  # what is below a node comes before it
        rule = rules.get(type(node))
        if rule is None:
            if not isinstance(node, _COMMON):
                raise _unwritten(node, dialect, "")
            continue
        kind = node.type
        try:
            written = rule(node)
        except Unknown as why:
            raise _unwritten(node, dialect, f" {why}") from None
        if written is not node:
            written.type = written.type or kind
            node.replace(written)
    return tree.sql(dialect=dialect, pretty=pretty, comments=pretty)


def _unwritten(node: exp.Expr, dialect: str, why: str) -> DataError:
    what = "a type that it lacks" if isinstance(node, exp.DataType) else f"{named(node)}{why}"
    return DataError(
        f"the query cannot be written for {_ENGINES[dialect]}: {what}",
        hint="ask without it, or ask in DuckDB",
    )


def typed(query: exp.Expr) -> exp.Expr:
    """A copy whose nodes know their types, as far as they follow from those of columns."""
    tree = query.copy()
    known: list[exp.Expr] = [
        n for n in tree.find_all(exp.Column, exp.Explode) if n.type is not None
    ]
    for kind, nodes in _KINDS.items():
        known += [_of_kind(node, kind) for node in tree.find_all(*nodes)]
    _annotate(tree, known)
    days = [node for node in tree.find_all(exp.Sub) if _between_days(node)]
    if days:  # what is made of them has been taken for dates
        _annotate(tree, [*known, *(_of_kind(node, exp.DType.BIGINT) for node in days)])
    return tree


# In DuckDB, whatever they are of.
_KINDS = {
    exp.DType.DOUBLE: (exp.Div,),
    exp.DType.VARCHAR: (exp.Left, exp.Right, exp.Replace, exp.SplitPart),
}


def _of_kind(node: exp.Expr, kind: exp.DType) -> exp.Expr:
    node.type = kind.into_expr()
    return node


def _between_days(node: exp.Expr) -> bool:
    return of_type(node.this, *DAYS) and of_type(node.expression, *DAYS)


def _annotate(tree: exp.Expr, known: Sequence[exp.Expr]) -> None:
    """Give every node the type that follows from those that are known."""
    casts = [_as_cast(node) for node in known]
    bare = list(_unqualified(tree))
    for column, source in bare:
        column.set("table", identifier(source))
    annotate_types(tree, dialect="duckdb")
    for column, _ in bare:
        column.set("table", None)
    for cast in casts:
        inner, kind = cast.this, cast.to
        cast.replace(inner)
        inner.type = kind


def _as_cast(node: exp.Expr) -> exp.Cast:
    assert node.type is not None
    cast = exp.Cast(to=node.type.copy())
    node.replace(cast)
    cast.set("this", node)
    return cast


def _unqualified(tree: exp.Expr) -> Iterator[tuple[exp.Column, str]]:
    """Columns without a table, and the first that is read there: one of another gets no type."""
    for column in tree.find_all(exp.Column):
        select = column.find_ancestor(exp.Select)
        source = select and select.args.get("from_")
        if source and not column.table:
            yield column, source.this.alias_or_name
