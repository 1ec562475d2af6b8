"""A server for the tests of a file, and a place to write a small release from."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import duckdb
import mariadb_server
import pytest
from mariadb_server import Maria
from postgres_server import Server, programs, running


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    found = programs()
    if found is None:
        pytest.skip("no PostgreSQL server is installed")
    with running(found) as started:
        yield started


@pytest.fixture(scope="module")
def maria() -> Iterator[Maria]:
    found = mariadb_server.programs()
    if found is None:
        pytest.skip("no MariaDB server is installed")
    with mariadb_server.running(found) as started:
        yield started


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the source of a release, and with a database of SQLite that has a table."""
    monkeypatch.chdir(tmp_path)
    duckdb.sql(
        "COPY (SELECT 'Ann ' || i AS name, 20 + i % 30 AS age, "
        "CASE WHEN i % 7 = 0 THEN NULL ELSE 'f' END AS sex, (i % 4 + 0.5)::DECIMAL(4, 1) AS dose, "
        "i % 3 = 0 AS ill, DATE '2020-01-01' + (i % 3)::INT AS seen "
        "FROM range(60) AS r(i)) TO 'visits.parquet'"
    )
    with sqlite3.connect("lake.sqlite") as connection:
        connection.execute("CREATE TABLE other (a INTEGER)")
        connection.execute("INSERT INTO other VALUES (1)")
    connection.close()
    return tmp_path
