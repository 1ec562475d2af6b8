"""What DuckDB refuses, and connections that it cannot be used on, as errors without cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from dbdeid.engine.failure import AS_UTF8, EngineError, LockedError
from dbdeid.engine.relation import without_members
from dbdeid.errors import DataError


def refused(error: duckdb.Error) -> EngineError:
    """What DuckDB refused; only its kind where its text may quote a cell."""
    if (extension := missing_extension(error)) is not None:
        return EngineError(
            f"DuckDB needs its extension {extension!r} for this, which is not installed",
            hint=install_hint(extension),
            kind=type(error).__name__,
            of_memory=False,
        )
    return EngineError(
        f"DuckDB: {reason(error)}",
        hint=_hint(error),
        kind=type(error).__name__,
        of_memory=isinstance(error, duckdb.OutOfMemoryException),
    )


_EXTENSION = re.compile(r"extension ['\"](?:\S*/)?(\w+)(?:\.duckdb_extension)?['\":]", re.I)


def missing_extension(error: duckdb.Error) -> str | None:
    """The extension without which DuckDB could not do something; None: it is something else."""
    text = str(error)
    told = type(error) in (duckdb.Error, duckdb.IOException, duckdb.HTTPException)  # not of cells
    if not told or ("INSTALL" not in text and "Failed to download extension" not in text):
        return None
    found = _EXTENSION.search(text)
    return found[1] if found else None


def install_hint(extension: str) -> str:
    """How an extension is installed, with a network and without."""
    with duckdb.connect() as connection:
        version = connection.execute("SELECT version()").fetchall()[0][0]
        platform = connection.execute("PRAGMA platform").fetchall()[0][0]
    file = f"{extension}.duckdb_extension"
    return (
        f"with a network: `INSTALL {extension}` in DuckDB {version}; without: fetch "
        f"{_FILES}/{version}/{platform}/{file}.gz on another machine, unpack it, and "
        f"`INSTALL '/path/to/{file}'`"
    )


_FILES = "https://extensions.duckdb.org"
# How DuckDB tells of Ctrl-C that met Python which it had called: a function, or an import.
_AN_INTERRUPT = re.compile(r"Python exception\b.*\bKeyboardInterrupt\b", re.DOTALL)


@contextmanager
def no_cells() -> Iterator[None]:
    """Engine errors as EngineError; rows stream, so fetching can fail as well as executing.

    Python carries the engine's own error along as context, so it loses its text.
    """
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.Error as error:
        if _AN_INTERRUPT.search(str(error)):
            raise KeyboardInterrupt from None
        told = refused(error)
        error.args = (told.message,)
        raise told from None
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # how DuckDB tells of an interrupt of the keyboard
            raise KeyboardInterrupt from None
        raise


def _hint(error: duckdb.Error) -> str:
    """What to try after an engine error."""
    if isinstance(error, duckdb.OutOfMemoryException):
        return "allow more memory (--memory-limit), or fewer threads"
    if "not utf-8" in str(error):
        return AS_UTF8
    if "No files found" in str(error):
        return "check the path of the file: those in SQL start from the working directory"
    if isinstance(error, duckdb.BinderException | duckdb.CatalogException):
        return "check the names of tables and columns in the SQL; -vv logs the statement"
    if isinstance(error, duckdb.IOException):
        return "check that the disk has room, and who may read and write there"
    return "-vv logs the statement; look for casts and functions that do not fit every value"


# Conversion, out-of-range and user errors quote cells; these name only objects, syntax and types.
_CELL_FREE = (
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.ParserException,
    duckdb.IOException,
    duckdb.OutOfMemoryException,
    duckdb.TransactionException,
    duckdb.ConnectionException,
)


def reason(error: duckdb.Error) -> str:
    """The first line of an engine error, or only its kind where the text may quote a cell."""
    if isinstance(error, _CELL_FREE):
        return without_members(str(error)).strip().split("\n")[0]
    return f"{_kind(error)} (text withheld: it may quote data)"


def _kind(error: duckdb.Error) -> str:
    """The kind of an engine error as DuckDB words it: Conversion Error."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__.removesuffix("Exception"))
    return f"{words.removesuffix('Error').strip()} Error".strip()


# What a release rests on: its rows are sorted, and its classes are told apart, by these.
_USUAL = {
    "default_collation": ("", "binary"),
    "default_order": ("ASC", "ASCENDING"),
    "default_null_order": ("NULLS_LAST",),
}


def require_open(connection: Any) -> None:
    """Refuse anything but an open DuckDB connection.

    Raises:
        DataError: it is something else, or closed.
    """
    if not isinstance(connection, duckdb.DuckDBPyConnection):
        kind = type(connection).__name__
        raise DataError(f"a connection of DuckDB is needed, not a {kind}", hint="duckdb.connect(…)")
    try:
        connection.cursor().close()
    except duckdb.Error:
        raise DataError("the connection is closed", hint="open it again") from None


def require_idle(connection: Any) -> None:
    """Refuse a connection whose owner has not fetched all rows of its last result.

    Raises:
        DataError: it is none, closed, or still holds rows.
    """
    require_open(connection)
    try:
        connection.sql("SELECT 1").fetchall()
    except duckdb.Error as error:
        raise DataError(
            f"the connection cannot be used now ({reason(error)})",
            hint="fetch all rows of its last result first, or end its transaction",
        ) from None


def require_usual(connection: duckdb.DuckDBPyConnection) -> None:
    """Refuse a connection that sorts or compares otherwise than DuckDB does by itself.

    Raises:
        DataError: one of its settings differs.
    """
    with connection.cursor() as cursor:
        for name, usual in _USUAL.items():
            value = cursor.execute("SELECT system.main.current_setting(?)", [name]).fetchall()[0][0]
            if value not in usual:
                raise DataError(
                    f"the connection has {name} = {value}, under which a release would be another",
                    hint=f"RESET {name} first",
                )


def require_unshadowed(cursor: duckdb.DuckDBPyConnection, catalog: str) -> None:
    """Refuse a database in which a built-in function or operator would mean something else.

    DuckDB looks for a name in the current database before its own: a macro `min` there, or one
    named `=`, changes what every query answers. The names are compared here, as no query could.

    Raises:
        DataError: it has such macros.
    """
    query = "SELECT database_name, schema_name, function_name FROM system.main.duckdb_functions()"
    found = cursor.execute(query).fetchall()
    built_in = {name.lower() for database, _, name in found if database == "system"}
    names = sorted(
        {
            name
            for database, schema, name in found
            if (database, schema) == (catalog, "main") and name.lower() in built_in
        }
    )
    if names:
        some = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
        raise DataError(
            f"database {catalog!r} has macros that stand for functions of DuckDB ({some}): nothing "
            "that is computed there could be trusted",
            hint="drop them, or give them other names",
        )


def cannot_open(path: Path, error: duckdb.Error, *, read_only: bool) -> DataError:
    """Why a database file cannot be opened, and what to do."""
    message = str(error).lower()
    if "could not set lock" in message or "file handle conflict" in message:
        hint = "another process or connection has it open; close it there and try again"
        return LockedError(f"{path}: the database is locked", hint=hint)
    if read_only and not path.exists():
        return DataError(f"{path}: no such database file", hint="check `database` in the spec")
    if "not a valid duckdb" in message:
        return DataError(f"{path}: not a DuckDB database", hint="give a .duckdb file")
    if missing_extension(error) == "sqlite_scanner":
        return DataError(
            f"{path}: a database of SQLite, not of DuckDB",
            hint=f"attach it: `attach: {{name: {path.name}}}`, and `source: name.TABLE`",
        )
    damaged = "it may be damaged: take a copy of it that can be opened"
    hint = _hint(error) if isinstance(error, duckdb.IOException) else damaged
    return DataError(f"{path}: cannot be opened ({reason(error)})", hint=hint)
