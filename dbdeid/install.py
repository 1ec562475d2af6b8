"""Making dbdeid available in a DuckDB connection: macros, UDFs, the schema `deid`."""

from __future__ import annotations

from typing import Any

from dbdeid.engine.engines import ENGINE


def install(con: Any) -> None:
    """Install the macros in the connection's current database and register the Python UDFs.

    The macros are persistent: once installed, any DuckDB client can use them without Python.
    The UDFs live as long as the connection.

    Args:
        con: an open `duckdb.DuckDBPyConnection`.

    Raises:
        DataError: the database is read-only (register the UDFs alone with `register_udfs`), or a
            published release, which is not changed.
    """
    ENGINE.install_macros(con)
    register_udfs(con)


def register_functions(con: Any) -> None:
    """Register the UDFs that only compute: none of them reads or writes a file."""
    from dbdeid.udfs import functions

    functions.register(con)


def register_udfs(con: Any) -> None:
    """Register the Python UDFs in a connection, without writing to its database."""
    from dbdeid.udfs import procedures

    register_functions(con)
    procedures.register(con)
