"""A connection with macros and functions, and a hierarchy that two releases share."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from dbdeid.udfs import functions

from dbdeid.engine.duckdb import macros

KEY = "000102030405060708090a0b0c0d0e0f"


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        macros.install(connection)
        functions.register(connection)
        connection.execute(
            """INSERT INTO deid.hierarchies
            SELECT release, 'age', level, value,
              CASE WHEN release = 'b' AND level = 1 AND value = '20' THEN 'young' ELSE label END,
              loss, NULL, NULL
            FROM (SELECT unnest(['', 'a', 'b']) AS release), (VALUES
              (0, '20', '20', 0.0), (1, '20', '[20, 30)', 0.4), (2, '20', '*', 1.0),
              (0, '25', '25', 0.0), (1, '25', '[20, 30)', 0.4), (2, '25', '*', 1.0),
              (0, '30', '30', 0.0), (1, '30', '30', 0.0), (2, '30', '*', 1.0),
              (0, '', '', 0.0), (1, '', '25', 0.2), (2, '', '*', 1.0))
              AS v(level, value, label, loss)
            WHERE NOT (release = 'b' AND level = 2)"""
        )
        yield connection


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.setenv("DBDEID_PSEUDONYM_KEY", KEY)
    return bytes.fromhex(KEY)
