"""What FROM, WITH and JOIN of a query make of the source: one scope of named columns.

A subquery that only renames, computes and filters disappears: its columns are what its expressions
mean, its conditions join those of the query around it. Names are resolved as SQL does: a common
table expression hides a table of the same name, but not inside its own body.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from sqlglot import exp

from dbdeid.engine.expressions import identifier
from dbdeid.engine.relation import Relation
from dbdeid.query.parse.aliases import Item, expanded, read_item
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.expressions import Named, Range, Scope, bare, refused
from dbdeid.query.parse.meaning import typed
from dbdeid.query.parse.question import Join
from dbdeid.query.parse.statement import only, within

PRIVATE = ("deid", "information_schema", "pg_catalog")


@dataclass(frozen=True)
class Tables:
    """What a query reads.

    Attributes:
        scope: the columns that its expressions may name.
        joins: the joined tables.
        conditions: what its subqueries and joins demand of a record.
    """

    scope: Scope
    joins: tuple[Join, ...] = ()
    conditions: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True)
class _View:
    """A subquery: its columns by what they mean, and what it reads."""

    columns: tuple[Named, ...]
    joins: tuple[Join, ...]
    conditions: tuple[exp.Expr, ...]


def tables(select: exp.Select, target: Answerable, numbers: Iterator[int] | None = None) -> Tables:
    """What a SELECT reads.

    Args:
        select: the SELECT.
        target: the release.
        numbers: for the joined tables, no two of which are to be called alike.

    Raises:
        DataError: FROM, WITH or JOIN is not of the supported form; what of it is named.
    """
    return _Reader(target, numbers or count(1)).tables(select, {}, "")


@dataclass
class _Reader:
    target: Answerable
    numbers: Iterator[int]

    def tables(self, select: exp.Select, known: Mapping[str, _View], where: str) -> Tables:
        """What a SELECT reads where common table expressions are known."""
        views = self._views(select, known)
        source = select.args.get("from_")
        if source is None:
            raise refused(f"no FROM{where}", self._source_hint)
        first = source.this
        joins = [*(first.args.get("joins") or ()), *(select.args.get("joins") or ())]
        read = self._first(first, views, where)
        for join in joins:
            read = self._joined(read, join, views, where)
        return read

    # -- subqueries ----------------------------------------------------------------------------

    def _views(self, select: exp.Select, known: Mapping[str, _View]) -> Mapping[str, _View]:
        given = select.args.get("with_")
        if given is None:
            return known
        if given.recursive:
            raise refused("WITH RECURSIVE")
        views = dict(known)
        own: set[str] = set()
        for term in given.expressions:
            name, place = term.alias.lower(), f"WITH {term.alias}"
            if name in own:
                raise refused(f"{place} is there twice", "rename one of them")
            only(term, {"this", "alias", "materialized"}, f" in {place}")
            if term.args["alias"].columns:
                raise refused(f"column names after {place}", "name them in its SELECT: … AS name")
            own.add(name)
            views[name] = self._view(term.this, views, place)
        return views

    def _view(self, select: exp.Expr, known: Mapping[str, _View], place: str) -> _View:
        select = within(select)
        if not isinstance(select, exp.Select):
            raise refused(f"{select.key.upper()} in {place}")
        where = f" in {place}"
        only(select, {"expressions", "from_", "joins", "where", "with_"}, where)
        read = self.tables(select, known, where)
        columns: list[Named] = []
        items: list[Item] = []
        for node in select.expressions:
            if _is_star(node):
                columns.extend(_all_columns(node, read.scope, place))
            else:
                made = read_item(node, items, read.scope, place)
                items.append(made)
                columns.append(Named(made.name, read.scope.scalar(made.expression, place)))
        conditions = read.conditions
        if given := select.args.get("where"):
            condition = expanded(given.this, items, read.scope.knows)
            conditions = (*conditions, read.scope.scalar(condition, f"WHERE of {place}"))
        return _View(_first_of_each(columns, place), read.joins, conditions)

    # -- FROM ----------------------------------------------------------------------------------

    def _first(self, table: exp.Expr, views: Mapping[str, _View], where: str) -> Tables:
        if isinstance(table, exp.Subquery):
            if not isinstance(table.this, exp.Query):
                raise refused(f"a table in parentheses in FROM{where}", "leave the parentheses out")
            only(table, {"this", "alias", "joins"}, f" of a subquery in FROM{where}")
            alias = _alias(table, where)
            return _read(self._view(table.this, views, "the subquery in FROM"), alias)
        name = name_of(table, "FROM", where, self._source_hint)
        alias = _alias(table, where)
        if view := self._named_view(table, views):
            return _read(view, alias or name)
        if not self.target.is_source(parts_of(table)):
            raise refused(f"FROM {name} is not the source{where}", self._source_hint)
        qualifiers = [alias] if alias else [*self.target.source_names, *_suffixes(table)]
        columns = [Named(c.name, typed(c)) for c in self.target.columns]
        source = Range.of(qualifiers, columns, self.target.told, self.target.withheld)
        return Tables(Scope((source,)))

    @staticmethod
    def _named_view(table: exp.Expr, views: Mapping[str, _View]) -> _View | None:
        plain = isinstance(table, exp.Table) and len(table.parts) == 1
        return views.get(table.name.lower()) if plain else None

    @property
    def _source_hint(self) -> str:
        return f"the source is {' or '.join(self.target.source_names)}"

    # -- JOIN ----------------------------------------------------------------------------------

    def _joined(
        self, read: Tables, join: exp.Join, views: Mapping[str, _View], where: str
    ) -> Tables:
        _refuse_strange_join(join, where)
        table, alias = self._table(join.this, views, where)
        own = f"joined_{next(self.numbers)}"
        columns = [Named(c.name, typed(c, own)) for c in table.columns]
        qualifiers = [alias] if alias else [table.name, *_suffixes(join.this)]
        added = Range.of(qualifiers, columns)
        for known in read.scope.ranges:
            if twice := sorted(added.qualifiers & known.qualifiers):
                raise refused(f"two tables are called {twice[0]}{where}", "give one an alias")
        using = [name.name for name in join.args.get("using") or ()]
        shared = read.scope.shared | {name.lower() for name in using}
        scope = Scope((*read.scope.ranges, added), shared)
        pairs: list[tuple[str, str]] = []
        others: list[exp.Expr] = []
        for condition in _conditions(join, using, read.scope, scope, added):
            pair = _pair(condition, own)
            if pair is None:
                others.append(condition)
            elif pair not in pairs:
                pairs.append(pair)
        outer = join.side == "LEFT"
        if not pairs:
            raise refused(f"JOIN {table.name} without a released column = its column{where}")
        if outer and others:
            raise refused(f"ON of LEFT JOIN {table.name} with more than equal columns{where}")
        return Tables(
            scope,
            (*read.joins, Join(own, table, tuple(pairs), outer)),
            (*read.conditions, *others),
        )

    def _table(
        self, node: exp.Expr, views: Mapping[str, _View], where: str
    ) -> tuple[Relation, str]:
        if isinstance(node, exp.Subquery):
            raise refused(f"a subquery in JOIN{where}", self._joinable)
        name = name_of(node, "JOIN", where, self._joinable)
        if self._named_view(node, views) is not None:
            raise refused(f"JOIN of WITH {name}{where}", self._joinable)
        if self.target.is_source(parts_of(node)):
            raise refused(f"the source is joined with itself{where}")
        found = [table for table in self.target.tables if is_called(table, node)]
        if not found:
            raise refused(f"JOIN {name}, which is not a table to join with{where}", self._joinable)
        if len(found) > 1:
            raise refused(f"JOIN {name}, which several tables are called{where}", self._joinable)
        return found[0], _alias(node, where)

    @property
    def _joinable(self) -> str:
        names = ", ".join(sorted(table.name for table in self.target.tables))
        return f"tables to join with: {names or 'none'}"


def _read(view: _View, qualifier: str) -> Tables:
    """A subquery as the first table of FROM."""
    qualifiers = [qualifier] if qualifier else []
    return Tables(Scope((Range.of(qualifiers, view.columns),)), view.joins, view.conditions)


def _is_star(node: exp.Expr) -> bool:
    qualified = isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    return qualified or isinstance(node, exp.Star)


def _all_columns(node: exp.Expr, scope: Scope, place: str) -> list[Named]:
    """What `*`, `table.*` or `* EXCLUDE (…)` shows."""
    star = node if isinstance(node, exp.Star) else node.this
    only(star, {"except_"}, f" after * in {place}")
    left_out = {name.name.lower() for name in star.args.get("except_") or ()}
    qualifier = node.text("table")
    return [c for c in scope.all_columns(qualifier, place) if c.name.lower() not in left_out]


def _first_of_each(columns: Sequence[Named], place: str) -> tuple[Named, ...]:
    """The columns that can be named: the first of each name; DuckDB calls the others name_1, ….

    Raises:
        DataError: another column is named like that.
    """
    found: dict[str, Named] = {}
    twice: set[str] = set()
    for shown in columns:
        if found.setdefault(shown.name.lower(), shown) is not shown:
            twice.add(shown.name.lower())
    for name in twice:
        if any(re.fullmatch(rf"{re.escape(name)}_\d+", other) for other in found):
            raise refused(f"two columns named {name} in {place}", "name them apart: … AS name")
    return tuple(found.values())


def _conditions(
    join: exp.Join, using: list[str], before: Scope, scope: Scope, added: Range
) -> list[exp.Expr]:
    """What a join demands, as resolved conditions."""
    if not using:
        given = join.args.get("on")
        return [scope.scalar(part, "ON") for part in _conjuncts(given)] if given else []
    alone = Scope((added,))
    return [
        before.scalar(exp.column(identifier(name)), "USING").eq(
            alone.scalar(exp.column(identifier(name)), "USING")
        )
        for name in using
    ]


def _conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    parts: list[exp.Expr] = []
    pending = [condition]
    while pending:
        node = bare(pending.pop())
        if isinstance(node, exp.And):
            pending += [node.expression, node.this]
        else:
            parts.append(node)
    return parts


def _pair(condition: exp.Expr, own: str) -> tuple[str, str] | None:
    """The column of the source and of the joined table that must be equal, if it says that."""
    if not isinstance(condition, exp.EQ):
        return None
    sides = (bare(condition.this), bare(condition.expression))
    for source, table in (sides, sides[::-1]):
        if not isinstance(source, exp.Column) or not isinstance(table, exp.Column):
            return None
        if not source.table and table.table == own:
            return source.name, table.name
    return None


def _refuse_strange_join(join: exp.Join, where: str) -> None:
    kind = " ".join(word for word in (join.method, join.side, join.kind) if word)
    if kind not in ("", "INNER", "LEFT", "LEFT OUTER"):
        raise refused(f"{kind} JOIN{where}", "supported: INNER JOIN and LEFT JOIN")
    if not join.args.get("on") and not join.args.get("using"):
        raise refused(f"a comma or JOIN without ON in FROM{where}", "write JOIN … ON … = …")
    only(join, {"this", "on", "using", "method", "side", "kind"}, f" in JOIN{where}")


def name_of(table: exp.Expr, clause: str, where: str, hint: str) -> str:
    """The dotted name of a plain table.

    Raises:
        DataError: it is none, or of a private schema.
    """
    if not isinstance(table, exp.Table):
        raise refused(f"{table.key.upper()} in {clause}{where}", hint)
    if not all(isinstance(part, exp.Identifier) for part in table.parts):
        raise refused(f"a function in {clause}{where}", hint)
    allowed = {"this", "db", "catalog", "alias"} | ({"joins"} if clause == "FROM" else set())
    only(table, allowed, f" in {clause}{where}")
    if any(part.name.lower() in PRIVATE for part in table.parts[:-1]):
        raise refused(f"a table of a private schema in {clause}{where}", hint)
    return ".".join(part.name for part in table.parts)


def _alias(table: exp.Expr, where: str) -> str:
    alias = table.args.get("alias")
    if alias is not None and alias.columns:
        raise refused(f"column aliases in FROM{where}", "name columns in a SELECT: … AS name")
    return table.alias


def parts_of(table: exp.Expr) -> list[str]:
    """The parts of a table's dotted name; none of what is no table."""
    return [part.name for part in table.parts] if isinstance(table, exp.Table) else []


def _suffixes(table: exp.Expr) -> list[str]:
    """The qualifiers that a table without alias gives its columns."""
    parts = parts_of(table)
    return [".".join(parts[start:]) for start in range(len(parts))]


def is_called(table: Relation, node: exp.Expr) -> bool:
    """Whether a table is what a name means."""
    parts = [part.lower() for part in parts_of(node)]
    schema, catalog = (table.schema or "main").lower(), (table.catalog or "").lower()
    full = [catalog, schema, table.name.lower()]
    return parts == full[-len(parts) :] or (schema == "main" and parts == [catalog, full[-1]])
