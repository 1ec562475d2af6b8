"""What an analyst asks: one COUNT(*) over released columns, read and checked.

Everything outside the supported form is refused by name; nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from dbdeid.engine import sqltext
from dbdeid.engine.relation import Column, Relation, column
from dbdeid.errors import DataError, did_you_mean

SUPPORTED = (
    "supported: SELECT [keys,] COUNT(*) [AS name] FROM <source> [WHERE conditions] "
    "[GROUP BY keys] [ORDER BY keys or COUNT(*)] [LIMIT n] over released columns"
)


@dataclass(frozen=True)
class Answerable:
    """A release as a place to ask questions that were written for its source.

    Attributes:
        source_names: how a query may name the source: as the spec spells it; a file
            also by its stem.
        columns: the released columns whose values mean what they mean in the source, with their
            **source** types (no pseudonyms, no `_lower` and `_upper` companions).
        quasi_identifiers: those of them that may be generalized.
        release: the released table, with its columns.
        dictionary: its dictionary (column, released_value, level, lower, upper, leaves).
        weight: the column of `release` with the probability that a record is real; None: all are.
    """

    source_names: tuple[str, ...]
    columns: tuple[Column, ...]
    quasi_identifiers: tuple[str, ...]
    release: Relation
    dictionary: Relation
    weight: str | None = None

    def find(self, name: str) -> Column | None:
        """The answerable column of that name, compared without case."""
        return next((c for c in self.columns if c.name.lower() == name.lower()), None)


@dataclass(frozen=True)
class Output:
    """One column of the answer: a key, given by its place in the keys, or the count (None)."""

    name: str
    key: int | None


@dataclass(frozen=True)
class Order:
    """One term of ORDER BY: a key or the count (None)."""

    key: int | None
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Question:
    """A checked question. Column references are unqualified, quoted, spelled as in the source."""

    keys: tuple[exp.Expr, ...]
    where: exp.Expr | None
    outputs: tuple[Output, ...]
    order: tuple[Order, ...]
    limit: int | None


def parse(text: str, target: Answerable) -> Question:
    """Read one analyst statement.

    Raises:
        DataError: it is not one valid SELECT of the supported form; the clause is named.
    """
    select = _statement(text)
    for clause, value in select.args.items():
        if value and clause not in _CLAUSES:
            name = _NAMES.get(clause, clause.strip("_").upper())
            raise _refused("WITH" if clause == "with_" else name)
    scope = _Scope(target, _source(select, target))
    items = [_Item(e.alias, e.unalias()) for e in select.expressions]
    counts = [item for item in items if item.is_count]
    if len(counts) != 1:
        _refuse_other_aggregates(items)
        raise _refused("no COUNT(*)" if not counts else "more than one COUNT(*)")
    keys = _keys(select, items, scope)
    outputs = tuple(_output(item, keys, scope) for item in items)
    where = select.args.get("where")
    return Question(
        keys=keys,
        where=scope.scalar(where.this, "WHERE") if where else None,
        outputs=outputs,
        order=_order(select, outputs, keys, scope),
        limit=_limit(select),
    )


def replaced(node: exp.Expr, reference: Callable[[str], exp.Expr]) -> exp.Expr:
    """A copy of a question's expression with every column replaced by what its name gives."""
    return node.transform(lambda n: reference(n.name) if isinstance(n, exp.Column) else n)


def _refused(what: str, hint: str = SUPPORTED) -> DataError:
    return DataError(f"the query cannot be answered from the release: {what}", hint=hint)


# -- the statement ----------------------------------------------------------------------------

_CLAUSES = {"expressions", "from_", "where", "group", "order", "limit"}
_NAMES = {"joins": "JOIN", "laterals": "LATERAL", "sample": "TABLESAMPLE", "windows": "WINDOW"}


def _statement(text: str) -> exp.Select:
    try:
        parsed = sqltext.statements(text)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        where = f" (line {first['line']}, column {first['col']})" if first.get("line") else ""
        raise _refused(f"not valid SQL{where}: {_plainly(first)}") from None
    except SqlglotError:
        raise _refused("not valid SQL: a quote or comment is not closed") from None
    statements = [s for s in parsed if s is not None and not isinstance(s, exp.Semicolon)]
    if len(statements) != 1:
        raise _refused(f"{len(statements)} statements where one is expected")
    (statement,) = statements
    if not isinstance(statement, exp.Select):
        named = statement.name if isinstance(statement, exp.Command) else statement.key
        raise _refused(f"{named.upper()} where a SELECT is expected")
    return statement


def _plainly(error: dict[str, Any]) -> str:
    """What the parser says, without its own classes and without the query's constants."""
    said = str(error.get("description") or "syntax error")
    missing = re.search(r"missing for <class '.*\.(\w+)'>", said)
    if missing is None:
        return re.split(r",? but got|<", said)[0].strip() or "syntax error"
    clause = missing[1].upper()
    known = clause in ("WHERE", "BETWEEN", "IN", "LIKE", "ILIKE", "CASE", "CAST", "LIMIT", "ORDER")
    return f"{clause if known else 'an expression'} is incomplete"


def _source(select: exp.Select, target: Answerable) -> set[str]:
    """Check the FROM name; give the qualifiers that a column may carry, in lower case."""
    known = f"the source is {' or '.join(target.source_names)}"
    source = select.args.get("from_")
    table = source.this if source else None
    if table is None:
        raise _refused("no FROM", known)
    if not isinstance(table, exp.Table):
        raise _refused(f"{table.key.upper()} in FROM", known)
    if not all(isinstance(part, exp.Identifier) for part in table.parts):
        raise _refused("a function in FROM", known)
    for clause, value in table.args.items():
        if value and clause not in {"this", "db", "catalog", "alias"}:
            raise _refused(f"{_NAMES.get(clause, clause.upper())} in FROM")
    name = ".".join(part.name for part in table.parts)
    if name.lower() not in {known.lower() for known in target.source_names}:
        raise _refused(f"FROM {name} is not the source", known)
    alias = table.args.get("alias")
    if alias is not None and alias.columns:
        raise _refused("column aliases in FROM")
    return {q.lower() for q in (name, table.name, table.alias) if q}


@dataclass(frozen=True)
class _Item:
    """One expression of the SELECT list."""

    alias: str
    expression: exp.Expr

    @property
    def is_count(self) -> bool:
        return _is_count(self.expression)


def _is_count(node: exp.Expr) -> bool:
    return isinstance(node, exp.Count) and isinstance(node.this, exp.Star) and not node.expressions


def _refuse_other_aggregates(items: Sequence[_Item]) -> None:
    for item in items:
        for node in item.expression.find_all(exp.AggFunc, exp.Filter, exp.Window):
            if not _is_count(node) or node is not item.expression:
                raise _refused(named(node))


# -- keys, order, limit -----------------------------------------------------------------------


def _keys(select: exp.Select, items: Sequence[_Item], scope: _Scope) -> tuple[exp.Expr, ...]:
    group = select.args.get("group")
    if group is None:
        return ()
    for kind in ("cube", "rollup", "grouping_sets"):
        if group.args.get(kind):
            raise _refused(kind.upper().replace("_", " "))
    if group.args.get("all"):
        terms = [item.expression for item in items if not item.is_count]
    else:
        terms = [_grouped(term, items, scope) for term in group.expressions]
    keys: list[exp.Expr] = []
    for term in terms:
        key = scope.scalar(term, "GROUP BY")
        if not key.find(exp.Column):
            raise _refused("GROUP BY of a constant")
        if key not in keys:
            keys.append(key)
    return tuple(keys)


def _grouped(term: exp.Expr, items: Sequence[_Item], scope: _Scope) -> exp.Expr:
    """A term of GROUP BY: a place in the SELECT list, a column, else an alias, else itself."""
    if isinstance(term, exp.Literal) and term.is_int:
        item = _place(term, items, "GROUP BY")
        if item.is_count:
            raise _refused("GROUP BY COUNT(*)")
        return item.expression
    if isinstance(term, exp.Column) and not term.table and not scope.target.find(term.name):
        for item in items:
            if item.alias.lower() == term.name.lower() and not item.is_count:
                return item.expression
    return term


def _place(term: exp.Expr, items: Sequence[_Item], clause: str) -> _Item:
    place = int(term.name)
    if not 1 <= place <= len(items):
        raise _refused(f"{clause} {place}: the SELECT list has {len(items)} columns")
    return items[place - 1]


def _output(item: _Item, keys: Sequence[exp.Expr], scope: _Scope) -> Output:
    if item.is_count:
        return Output(item.alias or "count_star()", None)
    key = scope.scalar(item.expression, "SELECT")
    plain = item.expression.sql("duckdb")
    name = item.alias or (key.name if isinstance(key, exp.Column) else plain)
    if key not in keys:
        raise _refused(f"{name} is selected but not in GROUP BY")
    return Output(name, keys.index(key))


def _order(
    select: exp.Select, outputs: Sequence[Output], keys: Sequence[exp.Expr], scope: _Scope
) -> tuple[Order, ...]:
    order = select.args.get("order")
    found: list[Order] = []
    for term in order.expressions if order else ():
        for key in _ordered(term.this, outputs, keys, scope):
            descending = bool(term.args.get("desc"))
            found.append(Order(key, descending, bool(term.args.get("nulls_first"))))
    return tuple(found)


def _ordered(
    term: exp.Expr, outputs: Sequence[Output], keys: Sequence[exp.Expr], scope: _Scope
) -> list[int | None]:
    """What a term of ORDER BY means: an output by place or name, COUNT(*), or a key."""
    if isinstance(term, exp.Var) and term.name.upper() == "ALL":
        return [output.key for output in outputs]
    if isinstance(term, exp.Literal) and term.is_int:
        if not 1 <= int(term.name) <= len(outputs):
            raise _refused(f"ORDER BY {term.name}: the SELECT list has {len(outputs)} columns")
        return [outputs[int(term.name) - 1].key]
    if isinstance(term, exp.Column) and not term.table:
        for output in outputs:
            if output.name.lower() == term.name.lower():
                return [output.key]
    if _is_count(term):
        return [None]
    key = scope.scalar(term, "ORDER BY")
    if key not in keys:
        raise _refused("ORDER BY of something that is neither a key nor COUNT(*)")
    return [keys.index(key)]


def _limit(select: exp.Select) -> int | None:
    limit = select.args.get("limit")
    if limit is None:
        return None
    count = limit.args.get("expression")
    plain = {clause for clause, value in limit.args.items() if value} == {"expression"}
    if not plain or not isinstance(count, exp.Literal) or not count.is_int:
        raise _refused("LIMIT that is not a whole number")
    return int(count.name)


# -- expressions ------------------------------------------------------------------------------

# Deterministic and free of side effects: what may be computed from one row's values.
SCALARS = (
    *(exp.And, exp.Or, exp.Not, exp.Paren),
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Between, exp.In, exp.Like, exp.ILike, exp.Escape, exp.Is),
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Var, exp.Interval),
    *(exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod),
    *(exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.Case, exp.If, exp.Coalesce),
    *(exp.Lower, exp.Upper, exp.Length, exp.Trim, exp.Substring, exp.Left, exp.Right),
    *(exp.DPipe, exp.Concat, exp.StartsWith, exp.Nullif),
    *(exp.Floor, exp.Ceil, exp.Round, exp.Abs),
    *(exp.Year, exp.Quarter, exp.Month, exp.Day, exp.Extract, exp.DateTrunc, exp.TimestampTrunc),
)


def named(node: exp.Expr) -> str:
    """What a refused node is called; never its text."""
    if isinstance(node, exp.Anonymous):
        return f"the function {node.name}"
    if isinstance(node, exp.Count):
        return "COUNT of something else than *"
    if isinstance(node, exp.AggFunc):
        return f"the aggregate {node.sql_name()}"
    if isinstance(node, exp.Func):
        return f"the function {node.sql_name()}"
    return _WORDS.get(node.key, node.key.upper())


_WORDS = {
    "select": "a subquery",
    "subquery": "a subquery",
    "window": "a window",
    "star": "*",
    "groupingsets": "GROUPING SETS",
}


@dataclass(frozen=True)
class _Scope:
    """The released columns, and the qualifiers under which they may be named."""

    target: Answerable
    qualifiers: set[str]

    def scalar(self, node: exp.Expr, clause: str) -> exp.Expr:
        """A checked copy of an expression, its columns spelled as in the source."""
        for part in node.walk():
            if not isinstance(part, SCALARS):
                raise _refused(f"{named(part)} in {clause}")
        copy = exp.Paren(this=node.copy())
        for reference in list(copy.find_all(exp.Column)):
            reference.replace(column(self._resolve(reference, clause)))
        return _bare(copy)

    def _resolve(self, reference: exp.Column, clause: str) -> str:
        qualifier = ".".join(part.name for part in reference.parts[:-1])
        if not isinstance(reference.this, exp.Identifier):
            raise _refused(f"* in {clause}")
        if qualifier and qualifier.lower() not in self.qualifiers:
            raise _refused(f"{clause} names {qualifier}.{reference.name}: unknown table")
        found = self.target.find(reference.name)
        if found is None:
            hint = did_you_mean(reference.name, [c.name for c in self.target.columns])
            raise _refused(f"{clause} names {reference.name}, which is not released", hint)
        return found.name


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node.copy()
