"""Mutants of a published release, each leaking in one way: the scanner finds every one."""

from __future__ import annotations

import gzip
import shutil
import struct
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from canaries.conftest import SEEDS, Tally
from canaries.planting import IDENTIFIER, Planter
from canaries.releases import METHODS, Release
from canaries.scanner import Scanner, opened, pages

LEAK = Planter(99)
TOKEN = LEAK.text("name", IDENTIFIER)
NUMBER = LEAK.whole("ssn", IDENTIFIER, 10**12, 10**13)
SMALL = LEAK.whole("room", IDENTIFIER, 2**30, 2**31)


def _statements(*statements: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with duckdb.connect(str(path)) as con:
            for statement in statements:
                con.execute(statement)

    return change


# Column statistics keep the largest value of rows that were deleted.
DATABASES = {
    "statistics of a deleted number": _statements(
        "CREATE TABLE more AS SELECT range AS n FROM range(3000)",
        f"INSERT INTO more VALUES ({NUMBER})",
        f"DELETE FROM more WHERE n = {NUMBER}",
    ),
    "statistics of a deleted text": _statements(
        "CREATE TABLE more AS SELECT 'a' || range AS t FROM range(3000)",
        f"INSERT INTO more VALUES ('{TOKEN}')",
        f"DELETE FROM more WHERE t = '{TOKEN}'",
    ),
    "blocks of a dropped table": _statements(
        f"CREATE TABLE more AS SELECT '{TOKEN}' || hash(range) AS t FROM range(30000)",
        "CHECKPOINT",
        "DROP TABLE more",
        "CHECKPOINT",
    ),
    "a comment": _statements(f"COMMENT ON COLUMN released.age IS 'as for {TOKEN}'"),
    "a member of an enumeration": _statements(
        f"ALTER TABLE released ALTER note TYPE ENUM ('none', 'some', '{TOKEN}')"
    ),
    "a type": _statements(f"CREATE TYPE people AS ENUM ('{TOKEN}')"),
    "a view": _statements(f"CREATE VIEW v AS FROM released WHERE note <> '{TOKEN}'"),
    "a macro": _statements(f"CREATE MACRO who() AS '{TOKEN}'"),
    "a default": _statements(f"ALTER TABLE released ALTER note SET DEFAULT '{TOKEN}'"),
    "a sequence": _statements(f"CREATE SEQUENCE s START {NUMBER} MAXVALUE {NUMBER + 9}"),
    "a compressed column": _statements(
        "SET force_compression = 'zstd'",
        f"CREATE TABLE more AS SELECT repeat('{TOKEN}', 60) || range AS t FROM range(5000)",
    ),
    "a number among others": _statements(
        f"CREATE TABLE more AS SELECT CASE range WHEN 77 THEN {SMALL} ELSE range END::INTEGER AS n "
        "FROM range(4000)"
    ),
    "a hash": _statements(f"CREATE TABLE more AS SELECT sha256('{TOKEN}') AS t"),
    "another case": _statements(f"CREATE TABLE more AS SELECT upper('{TOKEN}') AS t"),
    "a blob": _statements(f"CREATE TABLE more AS SELECT ('{TOKEN}')::BLOB AS t"),
}


def _metadata(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({"source": f"patient {TOKEN}"}), path)


def _column_metadata(path: Path) -> None:
    table = pq.read_table(path)
    fields = [field.with_metadata({"example": TOKEN}) for field in table.schema]
    pq.write_table(table.cast(pa.schema(fields)), path)


def _categories(path: Path) -> None:
    frame = pq.read_table(path).to_pandas()
    frame["note"] = pd.Categorical(frame["note"], categories=["none", "some", TOKEN])
    pq.write_table(pa.Table.from_pandas(frame), path, compression="snappy")


def _statistics(path: Path) -> None:
    table = pq.read_table(path)
    extra = table.slice(0, 1).set_column(
        table.schema.get_field_index("note"), "note", pa.array([TOKEN])
    )
    pq.write_table(pa.concat_tables([table, extra.cast(table.schema)]), path, compression="zstd")


def _after_the_footer(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-8] + TOKEN.encode() + data[-8:])


def _lost_page(path: Path) -> None:
    hidden = pa.compress(b"-" * 5000 + TOKEN.encode(), "zstd", asbytes=True)
    data = path.read_bytes()
    path.write_bytes(data[:4] + hidden + data[4:])


def _in_utf_16(path: Path) -> None:
    path.write_bytes(path.read_bytes() + TOKEN.encode("utf-16-le"))


def _eight_bytes(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"x" + struct.pack(">q", NUMBER))


def _named(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:3] + b"\x08" + data[4:10] + TOKEN.encode() + b"\0" + data[10:])


def _commented(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:3] + b"\x10" + data[4:10] + TOKEN.encode() + b"\0" + data[10:])


def _keyed(path: Path) -> None:
    text = gzip.decompress(path.read_bytes()).replace(b"}", b',"x":"%s"}' % TOKEN.encode(), 1)
    path.write_bytes(gzip.compress(text, mtime=0))


def _of_part(name: str, before: bytes, path: Path) -> None:
    with zipfile.ZipFile(path) as file:
        parts = {part: file.read(part) for part in file.namelist()}
    parts[name] = parts[name].replace(before, before + TOKEN.encode())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for part, data in parts.items():
            file.writestr(part, data)


def _noted(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as file:
        file.comment = TOKEN.encode()


def _added(path: Path, name: str) -> None:
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, TOKEN)


FILES = {
    "public.parquet": {
        "key-value metadata": _metadata,
        "metadata of a column": _column_metadata,
        "unused categories": _categories,
        "a page and its statistics": _statistics,
    },
    "public.json.gz": {
        "a file name": _named,
        "a comment": _commented,
        "a key more": _keyed,
        "a second member": lambda path: path.write_bytes(
            path.read_bytes() + gzip.compress(TOKEN.encode(), mtime=0)
        ),
    },
    "public.xlsx": {
        "an author": partial(_of_part, "docProps/core.xml", b"<dc:creator>"),
        "a name of cells": partial(_of_part, "xl/workbook.xml", b"</sheets>"),
        "a comment": _noted,
        "a part": lambda path: _added(path, "docProps/custom.xml"),
        "a name of a part": lambda path: _added(path, TOKEN),
    },
    "public.csv": {"another encoding": _in_utf_16, "a number in binary": _eight_bytes},
    "public.duckdb": {**DATABASES, "bytes after the last block": _eight_bytes},
}
RAW = {"bytes before the end": _after_the_footer, "a page that nothing points to": _lost_page}


@pytest.fixture
def made(released: Callable[[str, str, int], Release]) -> Release:
    return released("adult", METHODS[0].name, SEEDS[0])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FILES)
def test_the_release_itself_leaks_nothing(
    name: str, made: Release, scan: Callable[..., Scanner]
) -> None:
    assert scan(LEAK.canaries).search_all(opened(made.folder / name)) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "mutant"), [(name, mutant) for name in FILES for mutant in FILES[name]]
)
def test_a_leak_is_found(
    name: str,
    mutant: str,
    made: Release,
    tmp_path: Path,
    scan: Callable[..., Scanner],
    tally: Tally,
) -> None:
    path = tmp_path / name
    shutil.copy(made.folder / name, path)
    FILES[name][mutant](path)
    assert scan(LEAK.canaries).search_all(opened(path)) != []
    tally.caught += 1


@pytest.mark.parametrize("mutant", RAW)
def test_a_leak_outside_the_format_is_found(
    mutant: str, made: Release, tmp_path: Path, scan: Callable[..., Scanner], tally: Tally
) -> None:
    path = tmp_path / "public.csv"  # read as bytes alone, for no reader opens it any more
    shutil.copy(made.folder / "public.parquet", path)
    RAW[mutant](path)
    found = scan(LEAK.canaries).search_all([("", path.read_bytes()), *pages(path.read_bytes())])
    assert found != []
    tally.caught += 1


def test_every_way_of_writing_a_canary_is_found(scan: Callable[..., Scanner]) -> None:
    planter = Planter(5)
    planter.text("t", IDENTIFIER, "é {}")
    planter.uuid("u", IDENTIFIER)
    planter.whole("n", IDENTIFIER, 2**30, 2**31)
    planter.real("x", IDENTIFIER, 0, 1)
    for canary in planter.canaries:
        for name, needle in canary.needles:
            for offset in range(9):
                data = b"." * offset + needle + b"."
                leaks = scan([canary]).search("here", data)
                assert f"here: {IDENTIFIER} of {canary.column!r} as {name}" in leaks
        assert scan([canary]).search("here", bytes(range(256)) * 9) == []


def test_a_file_name_is_searched(
    made: Release, tmp_path: Path, scan: Callable[..., Scanner]
) -> None:
    path = tmp_path / f"{TOKEN}.csv"
    shutil.copy(made.folder / "public.csv", path)
    assert scan(LEAK.canaries).search_all(opened(path)) != []
