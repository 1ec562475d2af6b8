"""DuckDB as an engine: embedded, one process, one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dbdeid.engine.duckdb.failure import require_idle
from dbdeid.engine.duckdb.session import Session as DuckSession
from dbdeid.engine.engine import Macro
from dbdeid.engine.session import Session, Settings, Table
from dbdeid.errors import DataError


class DuckDB:
    """See `engine.engine.Engine`; macros and scripts are loaded when they are needed."""

    def open(
        self,
        database: Path | None,
        *,
        read_only: bool,
        settings: Settings | None = None,
        sealed: bool = False,
    ) -> Session:
        """A session over a database file, or over an empty in-memory database."""
        return DuckSession.open(database, read_only=read_only, settings=settings, sealed=sealed)

    def over(self, connection: Any, database: Path | None, *, read_only: bool) -> Session:
        """A session over an open connection."""
        return DuckSession.over(connection, database, read_only=read_only)

    def run_script(
        self,
        database: Path,
        text: str,
        settings: Settings,
        register: Callable[[Any], None],
        *,
        read_only: bool = False,
        create: bool = False,
    ) -> Iterator[Table]:
        """Run every statement of a script and give each result as it comes."""
        from dbdeid.engine.duckdb.console import run_script

        return run_script(database, text, settings, register, read_only=read_only, create=create)

    def is_release(self, database: Path) -> bool:
        """Whether a file is a published release, found without changing it."""
        from dbdeid.engine.duckdb.console import is_release

        return is_release(database)

    def macros(self) -> tuple[Macro, ...]:
        """All macros, for people who speak SQL."""
        from dbdeid.engine.duckdb.macros import MACROS

        return MACROS

    def macro_script(self, *, private: bool = True) -> str:
        """All macros as one SQL script."""
        from dbdeid.engine.duckdb import macros

        return macros.script(private)

    def install_macros(self, connection: Any) -> None:
        """Install the macros in the current database of an open connection."""
        from dbdeid.engine.duckdb import macros

        require_idle(connection)
        query = "SELECT readonly FROM duckdb_databases() WHERE database_name = current_database()"
        if connection.execute(query).fetchall() == [(True,)]:
            raise DataError(
                "the database is read-only, so no macros can be installed",
                hint="connect without read_only=True; once installed, the macros stay in the file. "
                "For the Python functions alone: dbdeid.install.register_udfs(con)",
            )
        macros.install(connection)
