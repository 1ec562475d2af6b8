"""Counts in, a plan out: what dbt makes of it in a warehouse is what `dbdeid run` releases.

The histogram is a model of dbt, asked in the dialect of the warehouse; the plan is made of its
result alone; and dbt makes the release of it there, through the gate.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from counted_tables import TABLES
from hospital import Project
from postgres_server import programs
from spark_here import NO_SPARK, has_spark
from warehouses import NO_SERVER, Warehouse, warehouse

import dbdeid
from dbdeid.cli.text.plan import model
from dbdeid.commands.histogram import histogram
from dbdeid.commands.plan import plan

UNMEASURED: dict[str, Any] = {"evaluate": {"metrics": []}}
Rows = Counter[tuple[Any, ...]]


@dataclass(frozen=True)
class Released:
    """What `dbdeid run` makes of a table: the levels, and the records as a multiset."""

    source: Path
    levels: dict[str, int]
    suppressed: int
    rows: Rows


@pytest.fixture(scope="module")
def released(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Released]:
    """Each table as a Parquet file, and its release."""
    folder, found = tmp_path_factory.mktemp("released"), {}
    for name, table in TABLES.items():
        source, target = folder / f"{name}.parquet", folder / f"{name}_public.duckdb"
        with duckdb.connect() as con:
            con.execute(f"COPY ({table.extract(shared)}) TO '{source}'")
        spec = table.spec(name, shared, **UNMEASURED)
        run = dbdeid.run({**spec, "source": str(source), "target": str(target)})
        with duckdb.connect(str(target), read_only=True) as con:
            rows = Counter(con.execute(f"FROM {name}_public").fetchall())
        levels = {column: int(level) for column, level in run.transformation.items()}
        found[name] = Released(source, levels, run.suppressed_rows, rows)
    return found


class InDuckDB:
    """The file of the project."""

    dialect = "duckdb"

    def __init__(self, place: Warehouse) -> None:
        self.place = place

    def load(self, name: str, source: Path) -> str:
        self.place.ask(f"CREATE TABLE raw_{name} AS FROM '{source}'")
        return f"main.raw_{name}"

    def counts(self, name: str) -> str | Path:
        file = self.place.project.folder / f"{name}_counts.parquet"
        self.place.ask(f"COPY {name}_counts TO '{file}'")
        return file

    def rows(self, name: str) -> Rows:
        return Counter(self.place.ask(f"SELECT * FROM {name}"))


class InPostgreSQL(InDuckDB):
    """A schema of a server; rows go there as CSV, and come back by the driver."""

    dialect = "postgres"

    def load(self, name: str, source: Path) -> str:
        file = source.with_suffix(".csv")
        with duckdb.connect() as con:
            con.execute(f"COPY (FROM '{source}') TO '{file}' (HEADER FALSE)")
            described = con.execute(f"DESCRIBE FROM '{source}'").fetchall()
        types = {"DOUBLE": "DOUBLE PRECISION", "VARCHAR": "TEXT"}
        columns = ", ".join(f"{column} {types.get(kind, kind)}" for column, kind, *_ in described)
        self.place.ask(f"CREATE TABLE raw_{name} ({columns})")
        filled = f"COPY raw_{name} FROM STDIN (FORMAT csv)"
        with (
            self._connection() as con,
            con.cursor() as cursor,
            cursor.copy(filled) as copy,  # type: ignore[arg-type]
        ):
            copy.write(file.read_bytes())
        return f"main.raw_{name}"

    def counts(self, name: str) -> str | Path:
        """As Parquet, with the types of the server."""
        types = {"integer": "INTEGER", "bigint": "BIGINT", "smallint": "SMALLINT", "date": "DATE"}
        types |= {"double precision": "DOUBLE", "text": "VARCHAR", "character varying": "VARCHAR"}
        described = self.place.ask(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = "
            f"'main' AND table_name = '{name}_counts' ORDER BY ordinal_position"
        )
        columns = ", ".join(f"{column} {types[kind]}" for column, kind in described)
        file = self.place.project.folder / f"{name}_counts.parquet"
        with duckdb.connect() as con:
            con.execute(f"CREATE TABLE counts ({columns})")
            holes = ", ".join("?" for _ in described)
            rows = self.place.ask(f"SELECT * FROM {name}_counts")
            con.executemany(f"INSERT INTO counts VALUES ({holes})", rows)
            con.execute(f"COPY counts TO '{file}'")
        return file

    def _connection(self) -> psycopg.Connection[Any]:
        assert self.place.server is not None
        return psycopg.connect(
            f"host={self.place.server.folder} user=owner dbname=postgres "
            "options='-c search_path=main'",
            autocommit=True,
        )


class InSpark(InDuckDB):
    """A session of Spark inside of dbt; its tables are folders of Parquet files."""

    dialect = "spark"

    def load(self, name: str, source: Path) -> str:
        return f"parquet.`{source}`"

    def counts(self, name: str) -> str:
        return f"{self._folder(f'{name}_counts')}/"

    def rows(self, name: str) -> Rows:
        with duckdb.connect() as con:
            return Counter(con.execute(f"FROM '{self._folder(name)}/*.parquet'").fetchall())

    def _folder(self, table: str) -> Path:
        return self.place.project.folder / "spark-warehouse" / "main.db" / table


PLACES = {place.dialect: place for place in (InDuckDB, InPostgreSQL, InSpark)}
CASES = [
    "duckdb",
    pytest.param("postgres", marks=pytest.mark.skipif(programs() is None, reason=NO_SERVER)),
    pytest.param("spark", marks=pytest.mark.skipif(not has_spark(), reason=NO_SPARK)),
]


@pytest.mark.full
@pytest.mark.parametrize("dialect", CASES)
def test_what_dbt_makes_of_a_plan_of_counts_is_what_a_run_releases(
    dialect: str, released: dict[str, Released], shared: Path, dbt: Path, tmp_path: Path
) -> None:
    with warehouse(dialect, tmp_path / "hospital", dbt) as ware:
        place, project = PLACES[dialect](ware), ware.project
        for name, table in TABLES.items():
            raw = place.load(name, released[name].source)
            project.write(f"models/{name}.sql", f"SELECT * FROM {raw}")
            spec = table.spec(name, shared)
            asked = histogram(spec, dialect=dialect, table=f"{{{{ ref('{name}') }}}}")
            text = "{{ config(materialized='table') }}\n" + asked.sql
            project.write(f"models/{name}_counts.sql", text)
        project.run("run")
        for name, table in TABLES.items():
            found = plan(
                table.spec(name, shared),
                histogram=place.counts(name),
                output=project.folder / "seeds",
            )
            assert dict(found.transformation) == released[name].levels, name
            assert found.suppressed_rows == released[name].suppressed, name
            project.write(f"models/{name}_public.sql", model(found))
        _build(project)
        for name in TABLES:
            given, expected = place.rows(f"{name}_public"), released[name].rows
            assert sum((given - expected).values()) == 0, name
            assert sum((expected - given).values()) == 0, name


def _build(project: Project) -> None:
    made = ("{}", "{}_public_policy", "{}_public")
    words = [word.format(name) for name in TABLES for word in made]
    project.run("build", "--select", *words)
