"""Sources in MySQL and MariaDB: the same release, or an error without a secret or a cell."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import mariadb_server
import pymysql
import pytest
from kept_patients import TABLE, plain_rows, released, spec
from mariadb_server import Maria

from dbdeid.bind.any_table import opened
from dbdeid.commands.check import check
from dbdeid.errors import DataError
from dbdeid.sources import plain_drivers

KINDS = "`id` INT UNSIGNED, age TINYINT, born DATE, dose DOUBLE, town TEXT, diag VARCHAR(9)"
ODD = '`the ``odd`` "one"`'


@pytest.fixture(scope="module")
def server() -> Iterator[Maria]:
    found = mariadb_server.programs()
    if found is None:
        pytest.skip("no MariaDB server is installed")
    with mariadb_server.running(found) as started:
        rows = ", ".join(f"({', '.join(map(_literal, row))})" for row in plain_rows())
        for table in ("patients", ODD):
            started.run(
                f"CREATE TABLE {table} ({KINDS}) CHARACTER SET utf8mb4",
                f"INSERT INTO {table} VALUES {rows}",
            )
        started.run(
            "CREATE TABLE zero (id INT, born DATE)",
            "SET sql_mode = ''",
            "INSERT INTO zero VALUES (1, '0000-00-00')",
        )
        started.run("CREATE USER poor, locked IDENTIFIED BY 'other'")
        yield started


def _literal(value: object) -> str:
    return str(pymysql.converters.escape_item(value, "utf8mb4"))


@pytest.mark.parametrize("source", ["clinic.patients", 'clinic."the `odd` ""one"""'])
def test_the_same_release(tmp_path: Path, server: Maria, source: str) -> None:
    with duckdb.connect() as connection:
        connection.register("given", TABLE)
        wanted = released(tmp_path / "a", "given", connection)
    attach = {"clinic": server.address()}
    assert released(tmp_path / "b", source, attach=attach) == wanted
    query = {"sql": f"SELECT * FROM {source}", "name": "patients"}
    assert released(tmp_path / "c", query, attach=attach) == wanted


def refused(monkeypatch: pytest.MonkeyPatch, source: str, address: str) -> str:
    monkeypatch.setenv("WRONG", "hu5h")
    with pytest.raises(DataError) as error:
        check(spec(source, attach={"clinic": address}))
    assert "hu5h" not in f"{error.value}{error.value.__context__!r}"
    return str(error.value)


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch, server: Maria) -> None:
    locked = server.address("locked:${WRONG}", "")
    for source, address, wanted in (
        ("clinic.patient", server.address(), "clinic has no table or view 'patient'"),
        ("clinic.zero", server.address(), "a value is not of its type"),
        (
            "clinic.t",
            locked,
            "no connection to MySQL: Access denied",
        ),
        ("clinic.t", "mysql://nobody@127.0.0.1:1/x", "no connection to MySQL: Can't connect"),
        ("clinic.patients", server.address("poor", "").replace("/?", "?"), "no table or view"),
    ):
        assert wanted in refused(monkeypatch, source, address)


def test_a_server_that_goes_away(monkeypatch: pytest.MonkeyPatch, server: Maria) -> None:
    whole = plain_drivers._batched

    def ending(*given: object) -> object:
        schema, batches = whole(*given)

        def ended() -> Iterator[object]:
            server.end_others()
            raise pymysql.err.OperationalError(2013, "Lost connection 'hu5h'")
            yield from batches

        return schema, ended()

    monkeypatch.setattr(plain_drivers, "_batched", ending)
    told = refused(monkeypatch, "clinic.patients", server.address())
    assert "clinic: not all rows could be read (MySQL error 2013; text withheld" in told


def test_columns_have_the_types_that_they_declare(server: Maria) -> None:
    declared = {
        **{"a": "TINYINT(1)", "b": "BIGINT UNSIGNED", "c": "DECIMAL(10, 2)", "d": "DATETIME(6)"},
        **{"e": "ENUM('x', 'y')", "f": "JSON", "g": "VARBINARY(9)", "h": "FLOAT", "i": "FLOAT"},
    }
    columns = ", ".join(f"{name} {kind}" for name, kind in declared.items())
    values = "1, 18446744073709551615, 1.50, '2020-01-02 03:04:05.000006', 'y', '[1]', 'z', 0.5"
    server.run(
        f"CREATE TABLE kinds ({columns}, hidden INT INVISIBLE DEFAULT 7)",  # which * leaves out
        f"INSERT INTO kinds VALUES ({values}, 1.2345678)",
    )
    with opened(server.address(), "kinds") as found:
        types = [column.type for column in found.session.describe(found.opened.query)]
        row = found.session.row(found.opened.query)
    assert types == [
        *("TINYINT", "UBIGINT", "DECIMAL(10,2)", "TIMESTAMP", "VARCHAR", "VARCHAR", "BLOB"),
        *("FLOAT", "FLOAT"),
    ]
    when = datetime(2020, 1, 2, 3, 4, 5, 6)
    assert row[:-1] == (1, 2**64 - 1, Decimal("1.50"), when, "y", "[1]", b"z", 0.5)
    assert row[-1] == duckdb.execute("SELECT 1.2345678::FLOAT").fetchall()[0][0]
