"""Connections of a real client."""

from __future__ import annotations

from typing import Any

import psycopg

from dbdeid.serve.server import Server

Connection = psycopg.Connection[tuple[Any, ...]]


def connected(server: Server, password: str, **given: Any) -> Connection:
    """A connection; each statement is a transaction of its own."""
    place = {"host": "127.0.0.1", "port": server.port, "user": "analyst", "dbname": "releases"}
    given = {"autocommit": True, "connect_timeout": 20, **given}
    return psycopg.connect(**{**place, "password": password, **given})
