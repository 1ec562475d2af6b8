"""A session: the owner's database, the working place beside it, and the one door to run SQL.

A session works on a cursor of its own, so its temporary tables, search path and transaction
never meet those of the caller. Originals are staged in temporary tables only; what of them does
not fit into memory is spilled into a private folder of the session's own, unless the connection is
the caller's: its settings are left alone.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import duckdb
from sqlglot import exp

from dbdeid.engine.apart import most_spilled
from dbdeid.engine.expressions import Query, identifier, literal
from dbdeid.engine.failure import no_cells, require_open, require_unshadowed, require_usual
from dbdeid.engine.opening import MEMORY, attach, attached_as, connect, current_of, swept
from dbdeid.engine.process import private_files, uninterrupted
from dbdeid.engine.relation import Column, Relation, without_members
from dbdeid.engine.scratch import Scratch, spill_folder
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

logger = logging.getLogger("dbdeid")

# A file that any DuckDB from 1.2 on can read.
PUBLISHED_STORAGE = "v1.2.0"
# Of a session that reads a file of others: what the file could do beyond being read.
_NO_EXTENSIONS: dict[str, str | int] = {
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
}
SEAL = (
    "SET preserve_insertion_order = TRUE",
    "SET enable_external_access = FALSE",
    "SET lock_configuration = TRUE",
)
_SIZE = re.compile(r"\d+(\.\d+)? *([KMGT]i?)?B", re.IGNORECASE)


@dataclass(frozen=True)
class Step:
    """One named step: the temporary table it makes, and the query that makes it."""

    name: str
    query: Query

    @cached_property
    def statement(self) -> str:
        """The step as it is executed; many times over it is written only once."""
        return sql(_create_temp(self.name, self.query), own=True)

    def text(self) -> str:
        """The step as it is executed, laid out for reading."""
        return sql(_create_temp(self.name, self.query), pretty=True, own=True)


@dataclass(frozen=True)
class ViewStep(Step):
    """A step that makes a view beside the release, where that is written."""

    def text(self) -> str:
        """The step as it is executed, laid out for reading."""
        view = exp.table_(identifier(self.name))
        return sql(exp.Create(this=view, kind="VIEW", expression=self.query.copy()), pretty=True)


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of the engine; None leaves DuckDB's own (or the caller's) value.

    Attributes:
        threads: how many it uses.
        memory_limit: as in `2GB`.
    """

    threads: int | None = None
    memory_limit: str | None = None


def _create_temp(name: str, query: Query) -> exp.Create:
    return exp.Create(
        this=exp.table_(identifier(name)),
        kind="TABLE",
        expression=query.copy(),
        properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
        replace=True,
    )


class Session:
    """The owner's database under one catalog name, and a cursor to work on it.

    Args:
        connection: an open DuckDB connection; the session takes a cursor of it.
        catalog: the attached database that holds the owner's tables.
        sealed: names are looked up beside the database, not in it: what has no catalog is never
            found there, neither tables nor macros.
        new: the database was made with the connection, just now: it has no macros to look for.

    Raises:
        DataError: not sealed, and a macro of the database stands for a function that DuckDB has
            built in, so that nothing computed there could be trusted.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        catalog: str,
        *,
        sealed: bool = False,
        new: bool = False,
    ) -> None:
        self._cursor = connection.cursor()
        self.catalog = catalog
        self._own: duckdb.DuckDBPyConnection | None = None
        self._scratch: Scratch | None = None
        self._attached: list[str] = []
        self._private: set[str] = set()
        self._home = str(self.row("SELECT system.main.current_database()")[0])
        if sealed:
            return
        if new:
            self._use(catalog)
        else:
            self.enter()

    # -- opening and closing ---------------------------------------------------------------

    @classmethod
    def open(
        cls,
        database: Path | None,
        *,
        read_only: bool,
        settings: Settings | None = None,
        sealed: bool = False,
    ) -> Session:
        """A session over a database file, or over an empty in-memory database.

        Args:
            database: the file; None for none.
            read_only: whether it is only read.
            settings: limits of the engine.
            sealed: for a file that others may have written: nothing without a catalog is looked up
                in it, no other file can be read or written, no extension is loaded, and no setting
                changed.

        Raises:
            DataError: the file is missing, not a DuckDB database, or locked by another process.
        """
        settings = settings or Settings()
        config: dict[str, str | int] = {}
        if settings.threads:
            config["threads"] = settings.threads
        if settings.memory_limit is not None:
            if not _SIZE.fullmatch(settings.memory_limit):
                raise DataError(
                    f"DuckDB refused the settings: {settings.memory_limit!r} is no size of memory",
                    hint="--memory-limit is a size such as 2GB",
                )
            config["memory_limit"] = settings.memory_limit
        with ExitStack() as undo:
            scratch = swept(spill_folder(database))
            undo.callback(scratch.remove)
            config["temp_directory"] = str(scratch.path / "spill")
            if (most := most_spilled()) is not None:
                config["max_temp_directory_size"] = f"{most}B"
            connection = connect(config | (_NO_EXTENSIONS if sealed else {}))
            undo.callback(connection.close)
            with no_cells():
                if database is None:
                    session = cls(connection, MEMORY, sealed=sealed, new=True)
                else:
                    session = cls._over(connection, database, read_only=read_only, sealed=sealed)
                if sealed:
                    session._seal(scratch.path)
            undo.pop_all()
        session._own, session._scratch = connection, scratch
        return session

    def _seal(self, folder: Path) -> None:
        """Bar all files but the attached ones and those of a private folder."""
        self.execute(f"SET allowed_directories = [{sql(exp.Literal.string(str(folder)))}]")
        for setting in SEAL:
            self.execute(setting)

    @classmethod
    def over(
        cls,
        connection: duckdb.DuckDBPyConnection,
        database: Path | None,
        *,
        read_only: bool,
    ) -> Session:
        """A session over an open connection.

        The database file is looked for among the connection's attached databases and attached
        for the session's life when it is not there. Without a file the connection's current
        database is the owner's.

        Raises:
            DataError: the database cannot be opened, or the connection sorts or compares otherwise
                than DuckDB does by itself.
        """
        require_open(connection)
        require_usual(connection)
        return cls._over(connection, database, read_only=read_only)

    @classmethod
    def _over(
        cls,
        connection: duckdb.DuckDBPyConnection,
        database: Path | None,
        *,
        read_only: bool,
        sealed: bool = False,
    ) -> Session:
        if database is None:
            return cls(connection, current_of(connection), sealed=sealed)
        name = attached_as(connection, database)
        if name is not None:
            return cls(connection, name, sealed=sealed)
        name = attach(connection, database, read_only=read_only)
        try:
            session = cls(connection, name, sealed=sealed)
        except BaseException:
            with connection.cursor() as cursor:
                cursor.execute(f"DETACH {sql(identifier(name))}")
            raise
        session._attached.append(name)
        return session

    def close(self) -> None:
        """Drop what the session staged and let go of what it attached."""
        with uninterrupted(), self._as_private(bool(self._private)):
            self._close()

    def _close(self) -> None:
        if self._own is not None:
            try:
                self._cursor.close()
                self._own.close()
            finally:
                scratch, self._scratch = self._scratch, None
                if scratch:
                    scratch.remove()
            return
        for (name,) in self.rows("SELECT table_name FROM duckdb_tables() WHERE temporary"):
            self.drop_temp(str(name))
        self._use(self._home)  # what is in use cannot be detached
        for name in tuple(self._attached):
            self.detach(name)
        self._cursor.close()

    def enter(self) -> None:
        """Look names up in the database, as queries of people do.

        Raises:
            DataError: a macro of it stands for a function that DuckDB has built in.
        """
        with no_cells():
            require_unshadowed(self._cursor, self.catalog)
        self._use(self.catalog)

    def _use(self, catalog: str) -> None:
        # With its schema: alone the name would be ambiguous beside a schema of that name.
        self.execute(f"USE {sql(identifier(catalog))}.main")

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- running ---------------------------------------------------------------------------

    def execute(self, query: exp.Expr | str) -> duckdb.DuckDBPyConnection:
        """Run one statement; engine errors come back without the cells that DuckDB quotes."""
        statement = query if isinstance(query, str) else sql(query)
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug("%s", without_members(statement))
        with no_cells():
            return self._cursor.execute(statement)

    def rows(self, query: exp.Expr | str) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with no_cells():
            return self.execute(query).fetchall()

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
            found = self.execute(query) if values is None else self.execute_with(str(query), values)
            return cast("dict[str, NDArray[Any]]", found.fetchnumpy())

    def run(self, step: Step) -> Relation:
        """Run a step into its temporary table and describe what came out."""
        self.execute(step.statement)
        return self.temp(step.name)

    def fill(self, step: Step) -> int:
        """Run a step into its temporary table and tell how many rows came out."""
        return int(self.row(step.statement)[0])

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

    def temp(self, name: str) -> Relation:
        """A temporary table of this session."""
        table = Relation(name, schema="main", catalog="temp")
        return Relation(name, self.describe(table.table), "main", "temp")

    def drop_temp(self, name: str) -> None:
        """Drop a temporary table when it is there."""
        target = sql(exp.table_(identifier(name), db="main", catalog="temp"))
        self.execute(f"DROP TABLE IF EXISTS {target}")

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
        return tuple(Column(str(r[0]), str(r[1])) for r in self.rows(f"DESCRIBE {sql(query)}"))

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

    def exists(self, name: str, schema: str = "main", catalog: str | None = None) -> str | None:
        """'table' or 'view' when an object of that name exists, else None."""
        for kind in ("table", "view"):
            found = self.execute_with(
                f"SELECT 1 FROM duckdb_{kind}s() WHERE database_name = ? "
                f"AND lower(schema_name) = lower(?) AND lower({kind}_name) = lower(?)",
                [catalog or self.catalog, schema, name],
            ).fetchone()
            if found:
                return kind
        return None

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

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing. A COMMIT that DuckDB turned into a rollback is an error here."""
        self.execute("BEGIN TRANSACTION")
        try:
            yield
            self.row("SELECT 1")  # refused in a transaction that an error has ended
        except BaseException:
            with suppress(duckdb.Error):
                self._cursor.rollback()
            raise
        with self._as_private(bool(self._private)):  # this is where the log is made
            self.execute("COMMIT")

    @staticmethod
    def _as_private(private: bool) -> AbstractContextManager[None]:
        return private_files() if private else nullcontext()

    def can_write(self, catalog: str | None = None) -> bool:
        """Whether the engine may write files, and into this attached database if one is named."""
        if self.row("SELECT current_setting('access_mode')") == ("read_only",):
            return False
        query = "SELECT readonly FROM duckdb_databases() WHERE database_name = ?"
        return catalog is None or not self.execute_with(query, [catalog]).fetchall()[0][0]

    @property
    def cursor(self) -> duckdb.DuckDBPyConnection:
        """The session's own cursor, for installing macros and UDFs."""
        return self._cursor

    # -- other files -----------------------------------------------------------------------

    @property
    def scratch(self) -> Path | None:
        """The private folder of a session that opened its own connection."""
        return self._scratch.path if self._scratch else None

    def file_of(self, catalog: str) -> Path | None:
        """The file of an attached database; None when it is in memory."""
        query = "SELECT path FROM duckdb_databases() WHERE database_name = ?"
        found = self.execute_with(query, [catalog]).fetchone()
        return Path(found[0]) if found and found[0] else None

    def attach(self, path: Path, *, read_only: bool = False, private: bool = False) -> str:
        """Attach a file for the session's life and give the catalog name it got.

        A private one, and the log that DuckDB keeps beside it, are for their owner only.
        """
        with self._as_private(private):
            name = attach(self._cursor, path, read_only=read_only)
        self._attached.append(name)
        if private:
            self._private.add(name)
        return name

    def attach_new(self, path: Path) -> str:
        """Attach a file to be published, readable by older DuckDB.

        DuckDB writes the catalog name into the file, so it is one that tells nothing.
        """
        name = attach(
            self._cursor, path, read_only=False, name="release", storage=PUBLISHED_STORAGE
        )
        self._attached.append(name)
        return name

    def detach(self, name: str) -> None:
        """Let go of an attached file; its content is then whole on disk."""
        with self._as_private(name in self._private):
            self.execute(f"DETACH {sql(identifier(name))}")
        self._private.discard(name)
        if name in self._attached:
            self._attached.remove(name)
