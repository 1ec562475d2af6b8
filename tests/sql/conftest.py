"""Databases with the macros installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dbdeid.engine.duckdb import macros

ADULT = (
    "sex",
    "age",
    "race",
    "marital_status",
    "education",
    "native_country",
    "workclass",
    "occupation",
    "salary_class",
)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file with the macros: copied in a fifth of the time that installing takes."""
    path = tmp_path_factory.mktemp("macros") / "installed.duckdb"
    with duckdb.connect(path) as connection:
        macros.install(connection)
    return path


@pytest.fixture
def con(installed: Path, tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    # called as a database that is in no file
    with duckdb.connect(shutil.copy(installed, tmp_path / "memory.duckdb")) as connection:
        yield connection


@pytest.fixture(scope="module")
def adult(shared: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Adult as a table, with all its hierarchies loaded by hand. Read only, please."""
    with duckdb.connect() as connection:
        macros.install(connection)
        connection.execute(f"CREATE TABLE adult AS FROM '{shared}/data/adult_arx.parquet'")
        for column in ADULT:
            name = column.replace("_", "-")
            file = shared / "data/hierarchies/adult" / f"adult_hierarchy_{name}.csv"
            connection.execute(
                f"INSERT INTO deid.hierarchies FROM deid.read_hierarchy('{file}', '{column}')"
            )
        yield connection
