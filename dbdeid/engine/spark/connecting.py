"""A session of Spark over Spark Connect, for commands; in Python callers give their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dbdeid.errors import DataError, MissingExtra


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A session at an address, which no message quotes because it may hold a token.

    Raises:
        DataError: it is no address, or nobody answers there.
        MissingExtra: pyspark is not installed.
    """
    if not address.startswith("sc://"):
        raise DataError("no address of Spark Connect", hint="as in sc://spark.example.org:15002")
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra("pyspark", extra="spark") from None
    session = None
    try:
        session = SparkSession.builder.remote(address).getOrCreate()
        session.conf.get("spark.sql.ansi.enabled")
    except ImportError:  # the client's own libraries
        raise MissingExtra("pyspark[connect]", extra="spark") from None
    except PySparkException as error:
        raise DataError(
            f"Spark does not answer: {error.getCondition() or type(error).__name__}",
            hint="see that its Connect server runs, and that the address and its token are right",
        ) from None
    try:
        yield session
    finally:
        with suppress(PySparkException):
            session.stop()
