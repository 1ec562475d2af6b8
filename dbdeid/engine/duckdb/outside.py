"""What comes from outside of DuckDB: other programs' databases, extensions, a caller's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
from sqlglot import exp

from dbdeid.engine.duckdb.failure import no_cells, require_idle
from dbdeid.engine.expressions import identifier, table_named
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


def loaded(cursor: duckdb.DuckDBPyConnection, extension: str) -> bool:
    """Whether an extension is built in or installed, and now loaded; none is ever downloaded."""
    query = (
        "SELECT installed FROM system.main.duckdb_extensions() "
        "WHERE extension_name = ? OR list_contains(aliases, ?)"
    )
    with no_cells():
        found = cursor.execute(query, [extension, extension]).fetchall()
    if not any(installed for (installed,) in found):
        return False  # to load it would try to download it
    try:
        cursor.execute(f"LOAD {sql(identifier(extension))}")
    except duckdb.Error:  # of another version, or not to be read
        return False
    return True


def require_free(cursor: duckdb.DuckDBPyConnection, name: str) -> None:
    """Refuse a name under which the connection has a database already.

    Raises:
        DataError: it has.
    """
    if kind_of(cursor, name) is not None:
        raise DataError(
            f"attach: the connection has a database {name!r} already",
            hint="attach it under another name; or leave it out of `attach` to read that one",
        )


def kind_of(cursor: duckdb.DuckDBPyConnection, name: str) -> str | None:
    """What program an attached database is of; None where none has the name."""
    query = "SELECT type FROM system.main.duckdb_databases() WHERE lower(database_name) = lower(?)"
    found = cursor.execute(query, [name]).fetchall()
    return str(found[0][0]) if found else None


def attach_server(cursor: duckdb.DuckDBPyConnection, kind: str, address: str, name: str) -> None:
    """Attach a database by an extension, to be read only. The statement is not logged.

    Raises:
        EngineError: it cannot be attached; the text may tell the address.
    """
    place, given = sql(identifier(name)), sql(exp.Literal.string(address))
    with no_cells():
        cursor.execute(f"ATTACH {given} AS {place} (TYPE {sql(identifier(kind))}, READ_ONLY)")


def borrowed(connection: duckdb.DuckDBPyConnection, name: str) -> pa.RecordBatchReader | None:
    """The rows of a temporary table or view, which only its own connection can read.

    Raises:
        DataError: the connection has a result that its owner has not fetched.
    """
    require_idle(connection)
    query = (
        "SELECT name FROM (SELECT table_name AS name FROM system.main.duckdb_tables() "
        "WHERE temporary UNION ALL SELECT view_name FROM system.main.duckdb_views() "
        "WHERE temporary AND NOT internal) WHERE lower(name) = lower($name)"
    )
    with no_cells():
        found = connection.sql(query, params={"name": name}).fetchall()
        if not found:
            return None
        table = table_named(str(found[0][0]), "main", "temp")
        return connection.sql(sql(exp.select("*").from_(table))).to_arrow_reader()
