"""The same rows give the same release, byte for byte, wherever they are."""

from __future__ import annotations

import bz2
import json
import lzma
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
from kept_patients import TABLE, copied, plain_rows, released, spec, statements
from postgres_server import Server, programs, running

import dbdeid
from dbdeid.commands.check import check
from dbdeid.engine.duckdb import outside

DATES = {"id": "INTEGER", "age": "INTEGER", "born": "DATE", "dose": "REAL", "town": "TEXT"}
KINDS = {**DATES, "diag": "VARCHAR(20)"}


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("table")
    with duckdb.connect() as connection:
        patients = TABLE  # named in the statement
        connection.register("given", patients)
        connection.execute("CREATE TABLE patients AS FROM given")
        return released(folder, "patients", connection)


def halves(folder: Path, ending: str) -> None:
    """The patients in two files, of which the second has the columns in another order."""
    folder.mkdir()
    copied(folder / f"a{ending}", "(FROM patients WHERE id < 910013)")
    columns = "diag, town, dose, born, age, id"
    copied(folder / f"b{ending}", f"(SELECT {columns} FROM patients WHERE id >= 910013)")


def transcoded(folder: Path, encoding: str) -> str:
    path = copied(folder / "utf8.csv")
    text = path.read_text(encoding="utf-8").replace("Łódź", "Mäßen")
    (folder / "other.csv").write_bytes(text.encode(encoding))
    return str(folder / "other.csv")


def hive(folder: Path) -> str:
    copied(folder / "hive", options="(FORMAT parquet, PARTITION_BY (diag))")
    return str(folder / "hive") + "/"


def pattern(folder: Path, ending: str) -> str:
    halves(folder / "parts", ending)
    return str(folder / "parts" / f"*{ending}")


def packed(folder: Path, ending: str, pack: Callable[[bytes], bytes]) -> str:
    path = folder / f"p.csv{ending}"
    path.write_bytes(pack(copied(folder / "p.csv").read_bytes()))
    return str(path)


def arrow(folder: Path, ending: str) -> str:
    import pyarrow as pa

    path = folder / f"p{ending}"
    opened = pa.ipc.new_stream if ending == ".arrows" else pa.ipc.new_file
    with opened(str(path), TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=7)
    return str(path)


def sheet(folder: Path) -> str:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(TABLE.column_names)
    for row in plain_rows():
        book.active.append(row)
    book.create_sheet("notes")
    book.save(folder / "p.xlsx")
    return str(folder / "p.xlsx")


def delta(folder: Path) -> str:
    import deltalake

    deltalake.write_deltalake(str(folder / "delta"), TABLE)
    return str(folder / "delta") + "/"


FILES: dict[str, Callable[[Path], str]] = {
    "csv": lambda folder: str(copied(folder / "p.csv")),
    "csv.gz": lambda folder: str(copied(folder / "p.csv.gz")),
    "csv.zst": lambda folder: str(copied(folder / "p.csv.zst", options="(COMPRESSION zstd)")),
    "csv.bz2": lambda folder: packed(folder, ".bz2", bz2.compress),
    "csv.xz": lambda folder: packed(folder, ".xz", lzma.compress),
    "tsv": lambda folder: str(copied(folder / "p.tsv", options="(FORMAT csv, DELIMITER '\t')")),
    "parquet": lambda folder: str(copied(folder / "p.parquet")),
    "hive folder": hive,
    "parquet pattern": lambda folder: pattern(folder, ".parquet"),
    "csv pattern": lambda folder: pattern(folder, ".csv"),
    "json": lambda folder: str(copied(folder / "p.json", options="(FORMAT json, ARRAY true)")),
    "ndjson": lambda folder: str(copied(folder / "p.ndjson", options="(FORMAT json)")),
    "ndjson folder": lambda folder: str(Path(pattern(folder, ".json")).parent) + "/",
    "arrow": lambda folder: arrow(folder, ".arrow"),
    "arrow stream": lambda folder: arrow(folder, ".arrows"),
    "xlsx": sheet,
    "delta": delta,
}


@pytest.mark.sampled(18)
@pytest.mark.parametrize("kind", FILES)
def test_files(tmp_path: Path, wanted: bytes, kind: str) -> None:
    assert released(tmp_path, FILES[kind](tmp_path)) == wanted


@pytest.mark.sampled(3)
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16"])
def test_text_in_other_encodings(tmp_path: Path, encoding: str) -> None:
    as_utf8 = released(tmp_path / "a", transcoded(tmp_path, "utf-8"))
    assert released(tmp_path / "b", transcoded(tmp_path, encoding)) == as_utf8


def frames() -> dict[str, Callable[[], Any]]:
    import pandas as pd
    import polars as pl

    categories = {"town": "category", "diag": "category"}
    return {
        "pandas": lambda: pd.DataFrame(TABLE.to_pylist()),
        "pandas with categories": lambda: pd.DataFrame(TABLE.to_pylist()).astype(categories),
        "polars": lambda: pl.from_arrow(TABLE),
        "polars with categories": lambda: pl.from_arrow(TABLE).with_columns(
            pl.col("diag").cast(pl.Categorical)
        ),
        "arrow": lambda: TABLE,
        "batches, which are read once": lambda: TABLE.to_reader(max_chunksize=7),
        "relation": lambda: duckdb.connect().from_arrow(TABLE),
    }


@pytest.mark.sampled(9)
@pytest.mark.parametrize("kind", frames())
def test_rows_that_python_gives(tmp_path: Path, wanted: bytes, kind: str) -> None:
    assert released(tmp_path, frames()[kind]()) == wanted
    named = {"rows": frames()[kind](), "name": "patients"}
    assert released(tmp_path / "named", named) == wanted


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["temporary table", "temporary view", "registered", "catalog"])
def test_what_only_the_callers_connection_sees(tmp_path: Path, wanted: bytes, kind: str) -> None:
    with duckdb.connect() as connection:
        rows = TABLE  # named in the statement
        connection.register("given", rows)
        source = {"registered": "given", "catalog": "other.main.patients"}.get(kind, "patients")
        if kind == "catalog":
            connection.execute(f"ATTACH '{tmp_path / 'o.duckdb'}' AS other")
            connection.execute("CREATE TABLE other.patients AS FROM given")
        elif kind != "registered":
            what = "TABLE" if kind == "temporary table" else "VIEW"
            connection.execute(f"CREATE TEMP {what} patients AS FROM given")
        assert released(tmp_path, source, connection) == wanted


def sqlite_file(folder: Path, table: str = "patients") -> Path:
    path = folder / "clinic.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(statements(table, KINDS))
    connection.close()
    return path


def duckdb_file(folder: Path) -> Path:
    path = folder / "clinic.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(statements("patients", {**KINDS, "dose": "DOUBLE"}))
    return path


@pytest.mark.sampled(6)
@pytest.mark.parametrize("made", [sqlite_file, duckdb_file])
@pytest.mark.parametrize("source", ["clinic.patients", "clinic.main.Patients"])
def test_files_that_are_attached(
    tmp_path: Path, wanted: bytes, made: Callable[[Path], Path], source: str
) -> None:
    attach = {"clinic": str(made(tmp_path))}
    assert released(tmp_path, source, attach=attach) == wanted
    query = {"sql": f"SELECT * FROM {source} WHERE age < 100", "name": "patients"}
    assert released(tmp_path / "query", query, attach=attach) == wanted


def test_a_sheet_that_is_named(tmp_path: Path, wanted: bytes) -> None:
    assert released(tmp_path, "book.sheet", attach={"book": sheet(tmp_path)}) == wanted


# -- PostgreSQL ----------------------------------------------------------------------------------

needs_postgres = pytest.mark.skipif(programs() is None, reason="no PostgreSQL server is installed")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    found = programs()
    assert found is not None
    with running(found) as started:
        kinds = {**KINDS, "dose": "NUMERIC"}
        started.run(statements('public."patients"', kinds))
        started.run('CREATE SCHEMA "Odd.One"; ' + statements('"Odd.One"."the ""patients"""', kinds))
        started.run("CREATE VIEW shown AS SELECT * FROM patients")
        yield started


@needs_postgres
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "source",
    [
        "clinic.patients",
        "clinic.public.patients",
        "clinic.shown",
        'clinic."Odd.One"."the ""patients"""',
    ],
)
def test_postgresql(tmp_path: Path, wanted: bytes, server: Server, source: str) -> None:
    attach = {"clinic": f"postgresql://owner@/postgres?host={server.folder}"}
    assert released(tmp_path, source, attach=attach) == wanted


@needs_postgres
def test_queries_join_databases(tmp_path: Path, wanted: bytes, server: Server) -> None:
    attach = {
        "clinic": f"postgresql://owner@/postgres?host={server.folder}",
        "old": str(sqlite_file(tmp_path)),
    }
    sql = (
        "SELECT p.id, p.age, p.born, o.dose, p.town, p.diag FROM clinic.public.patients p "
        "JOIN old.patients o USING (id)"
    )
    assert released(tmp_path, {"sql": sql, "name": "patients"}, attach=attach) == wanted


@pytest.mark.full
def test_an_extension_that_is_installed_comes_first(
    tmp_path: Path, wanted: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No extension can be had where tests run: a file of DuckDB stands for what one attaches.
    inside = duckdb_file(tmp_path)
    told: list[tuple[str, str]] = []

    def attach(cursor: Any, kind: str, address: str, name: str) -> None:
        told.append((kind, address))
        cursor.execute(f"ATTACH '{inside}' AS {name} (READ_ONLY)")

    kind_of = outside.kind_of
    monkeypatch.setattr(outside, "loaded", lambda *_: True)
    monkeypatch.setattr(outside, "attach_server", attach)
    monkeypatch.setattr(
        outside, "kind_of", lambda c, name: kind_of(c, name) and ("mysql" if name == "shop" else "")
    )
    monkeypatch.setenv("SHOP_PASSWORD", "a b@c")
    attached = {"shop": "mysql://reader:${SHOP_PASSWORD}@db.example.org/shop"}
    assert released(tmp_path / "a", "shop.patients", attach=attached) == wanted
    query = {"sql": "FROM shop.main.patients", "name": "patients"}
    assert released(tmp_path / "b", query, attach=attached) == wanted
    assert told == [("mysql", "mysql://reader:a%20b%40c@db.example.org/shop")] * 2


def test_a_project_attaches_for_its_releases(tmp_path: Path, wanted: bytes) -> None:
    sqlite_file(tmp_path)
    (tmp_path / "releases").mkdir()
    (tmp_path / "dbdeid.yml").write_text("defaults: {attach: {clinic: clinic.sqlite}}\n")
    path = tmp_path / "releases" / "patients.yml"
    exported = {"export": [str(tmp_path / "out.parquet")]}
    path.write_text(json.dumps(spec("clinic.patients", output=exported)), encoding="utf-8")
    dbdeid.run(path)
    assert (tmp_path / "out.parquet").read_bytes() == wanted


def test_a_check_tells_of_a_guessed_encoding(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(copied(tmp_path / "utf8.csv").read_bytes().decode().encode("cp1250"))
    found = check(spec(str(path)))
    assert any("p.csv is not UTF-8 text: it was read as cp125" in w for w in found["warnings"])


@pytest.mark.full
def test_populations_lie_where_sources_do(tmp_path: Path) -> None:
    attach = {"clinic": str(sqlite_file(tmp_path))}
    others = (FILES["ndjson"](tmp_path), FILES["parquet pattern"](tmp_path), "clinic.patients")

    def made(place: str, population: str) -> bytes:
        models = [{"model": "k_map", "k": 3, "population": population}]
        source = FILES["parquet"](tmp_path)
        return released(tmp_path / place, source, attach=attach, privacy=models)

    plain = made("plain", FILES["csv"](tmp_path))
    for number, population in enumerate(tiers.some(others, 3)):
        assert made(str(number), population) == plain
