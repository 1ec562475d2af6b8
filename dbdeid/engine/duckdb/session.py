"""A session: the owner's database, the working place beside it, and the one door to run SQL.

A session works on a cursor of its own, so its temporary tables, search path and transaction
never meet those of the caller. Originals are staged in temporary tables only; what of them does
not fit into memory is spilled into a private folder of the session's own, unless the connection is
the caller's: its settings are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

import duckdb

from dbdeid.engine.apart import most_spilled
from dbdeid.engine.duckdb import outside
from dbdeid.engine.duckdb.failure import (
    install_hint,
    no_cells,
    require_open,
    require_unshadowed,
    require_usual,
)
from dbdeid.engine.duckdb.opening import (
    MEMORY,
    NO_EXTENSIONS,
    PUBLISHED_STORAGE,
    SEAL,
    attach,
    attached_as,
    connect,
    current_of,
    swept,
)
from dbdeid.engine.duckdb.statements import Statements
from dbdeid.engine.expressions import Query, identifier, literal
from dbdeid.engine.process import memory, private_files, uninterrupted
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.scratch import Scratch, spill_folder
from dbdeid.engine.session import Settings
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

# Of the memory there is, DuckDB may fill a half before it spills: searches need the rest.
OF_MEMORY = 2
_SIZE = re.compile(r"\d+(\.\d+)? *([KMGT]i?)?B", re.IGNORECASE)


class Session(Statements):
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
        super().__init__(connection, catalog)
        self._given = connection
        self._own: duckdb.DuckDBPyConnection | None = None
        self._scratch: Scratch | None = None
        self._attached: list[str] = []
        self._aliases: set[str] = set()  # names of attached databases that were asked for
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
        # what is installed is loaded where it is needed, and nothing is fetched from a network
        config: dict[str, str | int] = {"autoinstall_known_extensions": "false"}
        if settings.threads:
            config["threads"] = settings.threads
        if settings.memory_limit is not None:
            if not _SIZE.fullmatch(settings.memory_limit):
                raise DataError(
                    f"DuckDB refused the settings: {settings.memory_limit!r} is no size of memory",
                    hint="--memory-limit is a size such as 2GB",
                )
            config["memory_limit"] = settings.memory_limit
        elif (most := memory()) is not None:
            config["memory_limit"] = f"{most // OF_MEMORY}B"
        with ExitStack() as undo:
            scratch = swept(spill_folder(database))
            undo.callback(scratch.remove)
            config["temp_directory"] = str(scratch.path / "spill")
            if (most := most_spilled()) is not None:
                config["max_temp_directory_size"] = f"{most}B"
            connection = connect(config | (NO_EXTENSIONS if sealed else {}))
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
        self.execute(f"SET allowed_directories = [{sql(literal(str(folder)))}]")
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
        """Drop the session's temporary tables and detach its databases."""
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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

    def attach(
        self,
        path: Path,
        *,
        read_only: bool = False,
        private: bool = False,
        name: str | None = None,
    ) -> str:
        """Attach a file for the session's life and give the catalog name it got.

        A private one, and the log that DuckDB keeps beside it, are for their owner only.
        """
        if name is not None:
            self._reserve(name)
        with self._as_private(private):
            name = attach(self._cursor, path, read_only=read_only, name=name)
        self._attached.append(name)
        if private:
            self._private.add(name)
        return name

    def attach_server(self, kind: str, address: str, name: str) -> None:
        """Attach a database of another program by an extension, to be read only."""
        self._reserve(name)
        outside.attach_server(self._cursor, kind, address, name)
        self._attached.append(name)

    def attach_empty(self, name: str, schema: str) -> None:
        """Attach an empty database in memory, or make another schema in one."""
        if not self.is_attached(name):
            self._reserve(name)
            self.execute(f"ATTACH ':memory:' AS {sql(identifier(name))}")
            self._attached.append(name)
        place = f"{sql(identifier(name))}.{sql(identifier(schema))}"
        self.execute(f"CREATE SCHEMA IF NOT EXISTS {place}")

    def is_attached(self, name: str) -> bool:
        """Whether the session has attached a database under a name that it was given."""
        return name in self._aliases and name in self._attached

    def _reserve(self, name: str) -> None:
        outside.require_free(self._cursor, name)
        self._aliases.add(name)

    def extends(self, extension: str) -> bool:
        """Whether an extension is here to be used; none is ever downloaded."""
        return outside.loaded(self._cursor, extension)

    def install_hint(self, extension: str) -> str:
        """How an extension is installed, with a network and without."""
        return install_hint(extension)

    def is_foreign(self, catalog: str) -> bool:
        """Whether an attached database is of another program, and may change at any time."""
        return outside.kind_of(self._cursor, catalog) not in ("duckdb", None)

    def borrowed(self, name: str) -> pa.RecordBatchReader | None:
        """The rows of a temporary table or view of the connection that was given."""
        return None if self._own is not None else outside.borrowed(self._given, name)

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

    # -- what leaves -----------------------------------------------------------------------

    def create_sorted(self, target: Relation, rows: Query, columns: Sequence[Column]) -> None:
        """Write a table afresh, sorted by all its columns."""
        from dbdeid.engine.duckdb import publish

        publish.create_table(self, target, rows, columns)

    def export(self, rows: Query, path: Path) -> None:
        """Write the rows of a query into a new file of one table, by its ending."""
        from dbdeid.engine.duckdb import publish

        publish.write_file(self, rows, path)

    def publish(
        self,
        path: Path,
        tables: Mapping[str, Relation],
        views: Mapping[str, Query],
        files: Mapping[str, Path],
    ) -> None:
        """Write verified tables, views of them and the public macros into a new database file."""
        from dbdeid.engine.duckdb import publish

        publish.write_database(self, path, tables, views, files)

    def is_release(self) -> bool:
        """Whether the owner's database is a published release: it holds no more than one does."""
        from dbdeid.engine.duckdb import macros

        return macros.in_release(self.cursor, self.catalog)

    def install_macros(self) -> None:
        """Install the macros in the owner's database: all of them or none."""
        from dbdeid.engine.duckdb import macros

        macros.install(self.cursor, self.catalog)
