"""Statements on one cursor of DuckDB: what they give, and the tables they are about."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import duckdb
from sqlglot import exp

from dbdeid.engine.duckdb.failure import no_cells
from dbdeid.engine.expressions import cast as cast_as
from dbdeid.engine.expressions import column, creation, identifier, literal, table_named
from dbdeid.engine.relation import Column, Relation, without_members
from dbdeid.engine.session import Step, Table
from dbdeid.engine.sqltext import sql

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

logger = logging.getLogger("dbdeid")

# A table and a view of one name cannot be in one schema.
_WHAT_EXISTS = """
SELECT 'table' FROM duckdb_tables()
WHERE database_name = $1 AND lower(schema_name) = lower($2) AND lower(table_name) = lower($3)
UNION ALL
SELECT 'view' FROM duckdb_views()
WHERE database_name = $1 AND lower(schema_name) = lower($2) AND lower(view_name) = lower($3)
"""


def table_of(found: duckdb.DuckDBPyConnection) -> Table:
    """What the last statement of a connection gave."""
    described = found.description or []
    columns, types = (tuple(str(one[at]) for one in described) for at in (0, 1))
    return Table(columns, types, tuple(found.fetchall()))


def _log(statement: str) -> None:
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug("%s", without_members(statement))


class Statements:
    """A cursor of a connection, so that its owner's results and transactions are left alone.

    Args:
        connection: an open DuckDB connection; a cursor of it is taken.
        catalog: the attached database that holds the owner's tables.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, catalog: str) -> None:
        self._cursor = connection.cursor()
        self.catalog = catalog
        self._views: set[str] = set()  # temporary ones

    @property
    def cursor(self) -> duckdb.DuckDBPyConnection:
        """The cursor itself, for installing macros and UDFs."""
        return self._cursor

    # -- running ---------------------------------------------------------------------------

    def execute(self, query: exp.Expr | str) -> duckdb.DuckDBPyConnection:
        """Run one statement; engine errors come back without the cells that DuckDB quotes."""
        statement = query if isinstance(query, str) else sql(query)
        _log(statement)
        with no_cells():
            return self._cursor.execute(statement)

    def rows(self, query: exp.Expr | str, values: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """All rows of a query; `values` for each `?` of a text."""
        with no_cells():
            return self._found(query, values).fetchall()

    def result(self, query: exp.Expr | str) -> Table:
        """All rows of a query, with the names and types of its columns."""
        with no_cells():
            return table_of(self.execute(query))

    def repeated(self, query: str) -> Callable[[], Table]:
        """A query that is read once, to be run at each call: its result, as above."""
        with no_cells():
            statements = self._cursor.extract_statements(query)
        if len(statements) != 1:  # as PIVOT is, which first looks for its columns
            return partial(self.result, query)

        def run() -> Table:
            _log(query)
            with no_cells():
                return table_of(self._cursor.execute(statements[0]))

        return run

    def row(self, query: exp.Expr | str) -> tuple[Any, ...]:
        """The only row of a query."""
        rows = self.rows(query)
        if len(rows) != 1:
            raise ValueError(f"expected one row, found {len(rows)}")
        return rows[0]

    def arrays(
        self, query: exp.Expr | str, values: list[Any] | None = None
    ) -> dict[str, NDArray[Any]]:
        """The columns of a query without NULLs as numpy arrays; `values` for each `?` of a text."""
        with no_cells():
            found = self._found(query, values)
            return cast("dict[str, NDArray[Any]]", found.fetchnumpy())

    def _found(self, query: exp.Expr | str, values: list[Any] | None) -> duckdb.DuckDBPyConnection:
        return self.execute(query) if values is None else self.execute_with(str(query), values)

    def run(self, step: Step) -> Relation:
        """Run a step into its temporary table or view and describe what came out."""
        self.execute(step.statement)
        if not step.stored:
            self._views.add(step.name)
        return self.temp(step.name)

    def fill(self, step: Step) -> int:
        """Run a step into its temporary table and return the number of its rows."""
        return int(self.row(step.statement)[0])

    def interrupt(self) -> None:
        """Stop the statement that another thread runs here, which ends it with an interrupt."""
        self._cursor.interrupt()

    def settle(self) -> None:
        """Let go of the rows that an interrupt left unread, which would bar other work."""
        self.row("SELECT 1")

    def upload(self, name: str, columns: Mapping[str, Any]) -> Relation:
        """A temporary table from columns of one length, as `engine.arrow.array` takes them."""
        import pyarrow as pa

        from dbdeid.engine import arrow

        table = pa.table({column: arrow.array(values) for column, values in columns.items()})
        view = f"{name}_arrow"
        self._cursor.register(view, table)
        try:
            return self.run(Step(name, exp.select("*").from_(exp.table_(identifier(view)))))
        finally:
            self._cursor.unregister(view)

    def stage(
        self, place: Relation, rows: pa.RecordBatchReader, kinds: Mapping[str, str]
    ) -> Relation:
        """A new table from Arrow batches, which are read once."""
        view = "deid_arrow_stream"
        read = (
            exp.alias_(cast_as(column(name), kinds[name]), identifier(name))
            if name in kinds
            else column(name)
            for name in rows.schema.names
        )
        query = exp.select(*read).from_(exp.table_(identifier(view)))
        with no_cells():
            self._cursor.register(view, rows)
        try:
            if place.catalog == "temp":
                self.execute(
                    creation(table_named(place.name), "TABLE", query, temporary=True, replace=True)
                )
            else:
                self.execute(creation(place.table, "TABLE", query))
        finally:
            self._cursor.unregister(view)
        return Relation(place.name, self.describe(place.table), place.schema, place.catalog)

    def temp(self, name: str) -> Relation:
        """A temporary table of this session."""
        table = Relation(name, schema="main", catalog="temp")
        # by itself, which takes less than as a query; a view could be out of date
        return Relation(name, self._described(table.table), "main", "temp")

    def drop_temp(self, name: str) -> None:
        """Drop a temporary table or view when it is there."""
        target = exp.table_(identifier(name), db="main", catalog="temp")
        kind = "VIEW" if name in self._views else "TABLE"
        self.execute(exp.Drop(tables=[target], kind=kind, exists=True))
        self._views.discard(name)

    def drop(self, relation: Relation) -> None:
        """Drop a table or view when it is there."""
        kind = self.exists(relation.name, relation.schema or "main", relation.catalog)
        if kind:
            self.execute(exp.Drop(tables=[relation.table], kind=kind.upper()))

    def table(self, relation: Relation) -> pa.Table:
        """A table as an Arrow table."""
        with no_cells():
            rows = self._cursor.sql(sql(exp.select("*").from_(relation.table)))
            return rows.to_arrow_table()

    def batches(self, query: exp.Query) -> pa.RecordBatchReader:
        """The rows of a query as Arrow batches, in its order, read as they are consumed."""
        with no_cells():
            return self._cursor.sql(sql(query)).to_arrow_reader()

    def frame(self, relation: Relation) -> pd.DataFrame:
        """A table as a pandas frame."""
        with no_cells():
            return self.execute(exp.select("*").from_(relation.table)).df()

    def comment(self, table: Relation, name: str, comment: str) -> None:
        """Set the comment of a column of a table or view."""
        names = name, table.name, table.schema or "main", table.catalog or self.catalog
        place = exp.column(*map(identifier, names))
        self.execute(exp.Comment(this=place, kind="COLUMN", expression=literal(comment)))

    def describe(self, source: exp.Expr) -> tuple[Column, ...]:
        """Names and types of the columns of a table or query."""
        query = source if isinstance(source, exp.Query) else exp.select("*").from_(source.copy())
        return self._described(query)

    def _described(self, source: exp.Expr) -> tuple[Column, ...]:
        return tuple(Column(str(r[0]), str(r[1])) for r in self.rows(f"DESCRIBE {sql(source)}"))

    def relation(self, name: str, schema: str = "main", catalog: str | None = None) -> Relation:
        """A table or view of the owner's database (or of another attached one), described."""
        bare = Relation(name, (), schema, catalog or self.catalog)
        return Relation(name, self.describe(bare.table), schema, bare.catalog)

    def tables(self) -> list[str]:
        """Tables and views of the owner's database, schema-qualified outside `main`."""
        found = self.execute_with(
            "SELECT CASE schema_name WHEN 'main' THEN name ELSE schema_name || '.' || name END "
            "FROM (SELECT database_name, schema_name, table_name AS name FROM duckdb_tables() "
            "UNION ALL SELECT database_name, schema_name, view_name FROM duckdb_views() "
            "WHERE NOT internal) WHERE database_name = ? ORDER BY ALL",
            [self.catalog],
        )
        return [str(row[0]) for row in found.fetchall()]

    def stored_tables(self) -> list[str]:
        """The tables of the owner's main schema, without views."""
        query = (
            "SELECT table_name FROM duckdb_tables() "
            "WHERE database_name = ? AND schema_name = 'main' ORDER BY ALL"
        )
        return [str(name) for (name,) in self.rows(query, [self.catalog])]

    def exists(self, name: str, schema: str = "main", catalog: str | None = None) -> str | None:
        """'table' or 'view' when an object of that name exists, else None."""
        found = self.execute_with(_WHAT_EXISTS, [catalog or self.catalog, schema, name]).fetchone()
        return str(found[0]) if found else None

    def definition(self, name: str, schema: str, catalog: str) -> str | None:
        """The statement that made a view; None where there is none of that name."""
        found = self.execute_with(
            "SELECT sql FROM system.main.duckdb_views() WHERE database_name = ? "
            "AND lower(schema_name) = lower(?) AND lower(view_name) = lower(?)",
            [catalog, schema, name],
        ).fetchone()
        return str(found[0]) if found else None

    def execute_with(self, statement: str, values: list[Any]) -> duckdb.DuckDBPyConnection:
        """Run one prepared statement with values."""
        with no_cells():
            return self._cursor.execute(statement, values)

    def views(self, catalog: str) -> dict[str, str]:
        """The statements that made the views of a database, by name."""
        query = "SELECT view_name, sql FROM duckdb_views() WHERE database_name = ? AND NOT internal"
        return dict(self.rows(query, [catalog]))

    def created(self, table: Relation) -> str:
        """The statement that would make a table as it is, collations and all; empty if unknown."""
        query = (
            "SELECT sql FROM duckdb_tables() "
            "WHERE database_name = ? AND schema_name = ? AND table_name = ?"
        )
        found = self.rows(query, [table.catalog, table.schema, table.name])
        return str(found[0][0]) if found else ""

    def comments(self, table: Relation) -> dict[str, str | None]:
        """The comment of each column of a table or view, in order."""
        query = (
            "SELECT column_name, comment FROM duckdb_columns() WHERE database_name = ? "
            "AND lower(schema_name) = lower(?) AND lower(table_name) = lower(?) "
            "ORDER BY column_index"
        )
        found = self.rows(query, [table.catalog, table.schema, table.name])
        return {str(name): comment for name, comment in found}

    @property
    def version(self) -> str:
        """Of the engine: fast hashes depend on it."""
        return str(self.row("SELECT version()")[0])

    def compares_by_bytes(self) -> bool:
        """Whether text without a collation of its own is compared byte by byte."""
        return self.row("SELECT current_setting('default_collation')")[0] in ("", "binary")

    def keep_order(self) -> None:
        """Give the rows of files in the order in which they stand there."""
        self.execute("SET preserve_insertion_order = TRUE")

    def can_write(self, catalog: str | None = None) -> bool:
        """Whether the engine may write files, and into this attached database if one is named."""
        if self.row("SELECT current_setting('access_mode')") == ("read_only",):
            return False
        query = "SELECT readonly FROM duckdb_databases() WHERE database_name = ?"
        return catalog is None or not self.execute_with(query, [catalog]).fetchall()[0][0]
