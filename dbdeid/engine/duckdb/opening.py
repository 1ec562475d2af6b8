"""Connections of DuckDB and the files attached to them: opened with words a user can act on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
from sqlglot import exp

from dbdeid.engine.duckdb.failure import cannot_open, reason
from dbdeid.engine.expressions import identifier
from dbdeid.engine.scratch import Scratch, spill_folder, sweep
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError

MEMORY = "memory"
# A file that any DuckDB from 1.2 on can read.
PUBLISHED_STORAGE = "v1.2.0"
# Of a session that reads a file of others: what the file could do beyond being read.
NO_EXTENSIONS: dict[str, str | int] = {
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
}
SEAL = (
    "SET preserve_insertion_order = TRUE",
    "SET enable_external_access = FALSE",
    "SET lock_configuration = TRUE",
)
# With its place: the caller's database may hold a macro of the name, and is not looked at yet.
_DATABASES = "system.main.duckdb_databases()"


def swept(folder: Path) -> Scratch:
    """A scratch folder, after what sessions that were killed left there is gone."""
    for place in {folder, spill_folder(None)}:
        sweep(place)
    return Scratch.make(folder)


def connect(config: Mapping[str, Any]) -> duckdb.DuckDBPyConnection:
    """A connection to no file yet.

    Raises:
        DataError: DuckDB does not take the settings.
    """
    try:
        return duckdb.connect(config=dict(config))
    except duckdb.Error as error:
        raise DataError(
            f"DuckDB refused the settings: {reason(error)}",
            hint="--memory-limit is a size such as 2GB, --threads a small number",
        ) from None


def current_of(connection: duckdb.DuckDBPyConnection) -> str:
    """The database the caller is in; a cursor of the connection starts in the default one.

    The connection itself is asked only when several databases are attached, and never while it
    holds a result that its owner has not fetched.
    """
    query = f"SELECT database_name FROM {_DATABASES} WHERE NOT internal"
    names = [str(row[0]) for row in connection.cursor().execute(query).fetchall()]
    if len(names) == 1:
        return names[0]
    try:
        current = str(connection.sql("SELECT system.main.current_database()").fetchall()[0][0])
    except duckdb.Error as error:
        raise DataError(
            f"the connection cannot tell which database it is in ({reason(error)})",
            hint="fetch all rows of its last result first, or name `database` in the spec",
        ) from None
    # A caller who is inside a temporary schema still means the main database.
    return names[0] if current in ("temp", "system") else current


def attached_as(connection: duckdb.DuckDBPyConnection, path: Path) -> str | None:
    """The name under which a file is attached; None where it is not."""
    wanted = path.resolve()
    query = f"SELECT database_name, path FROM {_DATABASES} WHERE path IS NOT NULL"
    for name, found in connection.cursor().execute(query).fetchall():
        if Path(found).resolve() == wanted:
            return str(name)
    return None


def attach(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    *,
    read_only: bool,
    name: str | None = None,
    storage: str | None = None,
) -> str:
    """Attach a file under a name that is not taken yet, and give it.

    Raises:
        DataError: it cannot be opened.
    """
    cursor = connection.cursor()  # the caller's own may hold a result that is not fetched yet
    known = cursor.execute(f"SELECT database_name FROM {_DATABASES}").fetchall()
    taken = {"temp", "system", MEMORY, "main"} | {str(row[0]).lower() for row in known}
    if path.exists() and not path.is_file():  # a pipe would never be opened
        what = "a folder" if path.is_dir() else "no file"
        raise DataError(f"{path}: is {what}", hint="give a .duckdb file")
    name = name or path.stem
    while name.lower() in taken:
        name = f"{name}_"
    options = ["READ_ONLY"] if read_only else []
    if storage:
        options.append(f"STORAGE_VERSION {sql(exp.Literal.string(storage))}")
    suffix = f" ({', '.join(options)})" if options else ""
    target = sql(exp.Literal.string(str(path)))
    try:
        cursor.execute(f"ATTACH {target} AS {sql(identifier(name))}{suffix}")
    except duckdb.Error as error:
        raise cannot_open(path, error, read_only=read_only) from None
    finally:
        cursor.close()
    return name
