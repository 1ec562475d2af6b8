"""MySQL and MariaDB: of a server that `DBDEID_TEST_MYSQL` names, as `mysql://root@127.0.0.1:3306/test`.

Its user makes and drops tables there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import pytest
from kept_patients import TABLE, plain_rows, released, spec

from dbdeid.bind.any_table import opened
from dbdeid.commands.check import check
from dbdeid.errors import DataError

ADDRESS = os.environ.get("DBDEID_TEST_MYSQL", "")
pytestmark = pytest.mark.skipif(not ADDRESS, reason="DBDEID_TEST_MYSQL names no server")
KINDS = "`id` INT UNSIGNED, age TINYINT, born DATE, dose DOUBLE, town TEXT, diag VARCHAR(9)"


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    import pymysql

    parts = urlsplit(ADDRESS)
    database = parts.path.strip("/")
    with pymysql.connect(
        host=parts.hostname,
        port=parts.port,
        user=parts.username,
        database=database,
        autocommit=True,
    ) as connection:
        cursor = connection.cursor()
        for table in ("patients", '`the ``odd`` "one"`'):
            cursor.execute(f"DROP TABLE IF EXISTS {table}")
            cursor.execute(f"CREATE TABLE {table} ({KINDS}) CHARACTER SET utf8mb4")
            cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s, %s, %s, %s, %s)", plain_rows())
        cursor.execute("DROP TABLE IF EXISTS zero")
        cursor.execute("CREATE TABLE zero (id INT, born DATE)")
        cursor.execute("SET sql_mode = ''")
        cursor.execute("INSERT INTO zero VALUES (1, '0000-00-00')")
        yield cursor


@pytest.mark.parametrize("source", ["clinic.patients", 'clinic."the `odd` ""one"""'])
def test_the_same_release(tmp_path: Path, server: Any, source: str) -> None:
    with duckdb.connect() as connection:
        connection.register("given", TABLE)
        wanted = released(tmp_path / "a", "given", connection)
    attach = {"clinic": ADDRESS}
    assert released(tmp_path / "b", source, attach=attach) == wanted
    query = {"sql": f"SELECT * FROM {source}", "name": "patients"}
    assert released(tmp_path / "c", query, attach=attach) == wanted


@pytest.mark.parametrize(
    ("source", "address", "wanted"),
    [
        ("clinic.patient", ADDRESS, "clinic has no table or view 'patient'"),
        ("clinic.zero", ADDRESS, "a value is not of its type"),
        (
            "clinic.t",
            "mysql://nobody:${WRONG}@127.0.0.1:{port}/x",
            "no connection to MySQL: Access",
        ),
        ("clinic.t", "mysql://nobody@127.0.0.1:1/x", "no connection to MySQL: Can't connect"),
    ],
)
def test_what_is_refused(
    monkeypatch: pytest.MonkeyPatch, server: Any, source: str, address: str, wanted: str
) -> None:
    monkeypatch.setenv("WRONG", "hu5h")
    attach = {"clinic": address.replace("{port}", str(urlsplit(ADDRESS).port))}
    with pytest.raises(DataError) as refused:
        check(spec(source, attach=attach))
    assert wanted in str(refused.value)
    assert "hu5h" not in f"{refused.value}{refused.value.__context__!r}"


def test_columns_have_the_types_that_they_declare(server: Any) -> None:
    declared = {
        **{"a": "TINYINT(1)", "b": "BIGINT UNSIGNED", "c": "DECIMAL(10, 2)", "d": "DATETIME(6)"},
        **{"e": "ENUM('x', 'y')", "f": "JSON", "g": "VARBINARY(9)", "h": "FLOAT"},
    }
    columns = ", ".join(f"{name} {kind}" for name, kind in declared.items())
    server.execute("DROP TABLE IF EXISTS kinds")
    server.execute(f"CREATE TABLE kinds ({columns})")
    values = (True, 2**64 - 1, "1.50", "2020-01-02 03:04:05.000006", "y", "[1]", b"z", 0.5)
    server.execute(f"INSERT INTO kinds VALUES ({', '.join(['%s'] * len(values))})", values)
    with opened(ADDRESS, "kinds") as found:
        types = [column.type for column in found.session.describe(found.opened.query)]
        row = found.session.row(found.opened.query)
    assert types == [
        *("TINYINT", "UBIGINT", "DECIMAL(10,2)", "TIMESTAMP", "VARCHAR", "VARCHAR", "BLOB", "FLOAT")
    ]
    when = datetime(2020, 1, 2, 3, 4, 5, 6)
    assert row == (1, 2**64 - 1, Decimal("1.50"), when, "y", "[1]", b"z", 0.5)
