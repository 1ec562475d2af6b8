"""The engine that releases are made in, and warehouses that have tables of their owners.

Rooms above open sessions here, and name none.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from dbdeid.engine.duckdb.engine import DuckDB
from dbdeid.engine.engine import Engine
from dbdeid.engine.warehouse import Warehouse

ENGINE: Engine = DuckDB()


def connected(address: str | None) -> AbstractContextManager[Any]:
    """A connection to the warehouse at an address, closed at the end; None without an address.

    Raises:
        DataError: nobody answers there.
        MissingExtra: a library that it needs is not installed.
    """
    if address is None:
        return nullcontext()
    from dbdeid.engine.spark.connecting import connected

    return connected(address)


def warehouse_of(connection: Any) -> Warehouse | None:
    """The warehouse that a caller's connection is to; None where it is none to a warehouse.

    Raises:
        DataError: releases are not made in one like it.
    """
    kind = type(connection)
    if kind.__name__ == "SparkSession" and kind.__module__.startswith("pyspark.sql"):
        from dbdeid.engine.spark.warehouse import Spark

        return Spark(connection)
    return None
