"""Parquet and CSV files that cannot be read, and first lines that are no names of columns."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbdeid
from dbdeid.commands.check import check
from dbdeid.commands.init import drafted
from dbdeid.commands.plan import plan
from dbdeid.commands.risk import RiskQuestion, assess
from dbdeid.errors import DbdeidError
from dbdeid.privacy import ROWS
from dbdeid.release.run import run
from dbdeid.verify.release import verify_bare

HEADER = "mrn,name,age,diag"
ROWS_OF = [f"{910_000 + i},Zoe Kanari {i},{20 + i % 7},angina" for i in range(40)]
WORDS = [f"Zoe Kanari {i},Kanari Lane,angina,female" for i in range(40)]
COLUMNS: dict[str, Any] = {
    "mrn, name": "identifier",
    "age": {"role": "quasi_identifier", "hierarchy": "suppress"},
    "diag": {"role": "sensitive", "accept": "homogeneity", "reason": "all the same"},
}
CELLS = ("Kanari", "910000", "910001", "angina")


def text(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


def spec(path: Path) -> dict[str, Any]:
    return {
        "release": "out",
        "source": str(path),
        "target": str(path.parent / "out.duckdb"),
        "columns": COLUMNS,
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": {"name": "full_domain", "suppression_limit": 0.1},
    }


def message(of: Callable[[], Any]) -> str:
    with pytest.raises(DbdeidError) as refused:
        of()
    return str(refused.value)


def messages(path: Path) -> dict[str, str]:
    """What is said of a file by all that read it and name its columns."""
    return {
        "check": message(lambda: check(spec(path))),
        "run": message(lambda: run(spec(path))),
        "plan": message(lambda: plan(spec(path))),
        "risk": message(lambda: assess(path, None, RiskQuestion(("age",), 2, ROWS))),
    }


HEADERLESS = {
    "no header": text(*ROWS_OF),
    "no header, all text": text(*WORDS),
    "a header with a cell beside each name": text(
        f"{HEADER},{ROWS_OF[0]}", *(f"{a},{b}" for a, b in zip(ROWS_OF, ROWS_OF, strict=True))
    ),
    "a header that runs into the first row": text(HEADER + ROWS_OF[0], *ROWS_OF[1:]),
    "a header that runs into the only row": HEADER + "," + ROWS_OF[0],
}


@pytest.mark.parametrize("name", HEADERLESS)
def test_no_cell_of_a_first_line_is_told_as_a_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(HEADERLESS[name], encoding="utf-8")
    if name == "a header with a cell beside each name":  # what it asks for is there
        told = {
            "check": message(lambda: check(spec(path))),
            "run": message(lambda: run(spec(path))),
        }
    else:
        told = messages(path)
    if "only row" not in name:  # of no row every class is large enough
        told["verify"] = message(lambda: verify_bare(path, ("age", "diagnosis"), 2))
    assert not [cell for cell in CELLS for said in told.values() if cell in said], told


def test_columns_that_stand_in_no_key_are_counted_where_they_may_be_cells(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(text(*ROWS_OF), encoding="utf-8")
    said = message(lambda: check(spec(path)))
    assert "4 columns of the source stand in no key of the spec" in said
    assert "see whether the first line of the file has the names" in said
    path.write_text(text(HEADER.replace("diag", "dx"), *ROWS_OF), encoding="utf-8")
    assert "no column 'diag'" in (said := message(lambda: check(spec(path))))
    assert "'dx' (VARCHAR) of the source has no role" in said  # most of it are known names


def test_names_of_a_query_over_a_csv_file_may_be_cells_too(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(text(*WORDS), encoding="utf-8")
    query = f"SELECT * FROM read_csv('{path}', header = true)"
    asked = {**spec(path), "source": {"sql": query, "name": "people"}}
    assert "Kanari" not in message(lambda: check(asked))


def test_a_draft_is_not_made_of_a_first_row(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(text(*WORDS), encoding="utf-8")
    said = message(lambda: drafted(path, None))
    assert "people.csv: its first line seems to be a row of data, for 3 of 4 columns" in said
    assert "Kanari" not in said
    path.write_text(text("who,where,what,sex", *WORDS), encoding="utf-8")
    assert drafted(path, None).decided


def test_a_released_file_of_others_tells_no_cell_of_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "anon.csv"
    path.write_text(text(*WORDS), encoding="utf-8")
    asked = spec(tmp_path / "people.parquet") | {"method": {"name": "external", "table": str(path)}}
    del asked["target"]
    said = message(lambda: dbdeid.verify(asked))
    assert "4 of 4 columns of the released table have no role" in said
    assert "Kanari" not in said


BROKEN = {
    "too many cells": (
        text(HEADER, *ROWS_OF[:5], "1,Zoe Kanari,33,angina,more,again", *ROWS_OF).encode(),
        "people.csv, line 7: it has 6 cells, and the first line 4",
    ),
    "too few": (
        text(HEADER, *ROWS_OF[:30], "1,Zoe Kanari", *ROWS_OF, "1,2,3").encode(),
        "people.csv, line 32: it has 2 cells, and the first line 4",
    ),
    "a quote that is not closed": (
        text(HEADER, '1,"Kanari, Zoe",33,angina', *ROWS_OF, '2,"Kanari, Zoe,33,angina').encode(),
        "people.csv, line 43: a quote is opened there and not closed",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_one_explanation_of_a_broken_csv_file(tmp_path: Path, name: str) -> None:
    content, wanted = BROKEN[name]
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    told = messages(path) | {"init": message(lambda: drafted(path, None))}
    assert len(set(told.values())) == 1, told
    assert told["init"].startswith(wanted)
    assert "Kanari" not in told["init"]


def test_a_packed_file_is_looked_into(tmp_path: Path) -> None:
    path = tmp_path / "people.csv.gz"
    path.write_bytes(gzip.compress(BROKEN["too many cells"][0]))
    wanted = "people.csv.gz, line 7: it has 6 cells"
    assert message(lambda: drafted(path, None)).startswith(wanted)
    path.write_bytes(BROKEN["too many cells"][0])
    said = messages(path) | {"init": message(lambda: drafted(path, None))}
    assert {one.split("\n")[0] for one in said.values()} == {"people.csv.gz is no whole gzip file"}


def test_a_file_that_is_no_parquet(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    path.write_text(text(HEADER, *ROWS_OF), encoding="utf-8")
    told = messages(path) | {"init": message(lambda: drafted(path, None))}
    assert {one.split("\n")[0] for one in told.values()} == {"people.parquet is no Parquet file"}
    duckdb.sql(f"COPY (SELECT 1 AS a) TO '{path}'")
    path.write_bytes(path.read_bytes()[:-20])
    assert "its end is missing" in message(lambda: drafted(path, None))


OTHERS = {
    "book.xlsx": ("book.xlsx cannot be read as a spreadsheet", "save it again"),
    "folder": ("folder is a folder", "files"),
    "pipe": ("pipe is a device or a pipe", "save what it gives as a file"),
    "/dev/zero": ("/dev/zero is a device or a pipe", "save what it gives as a file"),
    "table.txt": ("table.txt is not a DuckDB database", "give it the ending .csv"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_table_is_told_as_what_it_is(tmp_path: Path, name: str) -> None:
    (tmp_path / "book.xlsx").write_bytes(b"PK\x03\x04")
    (tmp_path / "table.txt").write_text(text(HEADER, *ROWS_OF), encoding="utf-8")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    path, (wanted, todo) = tmp_path / name, OTHERS[name]
    told = messages(path) | {"init": message(lambda: drafted(path, None))}
    for said in told.values():
        assert wanted in said.split("\n")[0]
        assert todo in said.split("\n")[1]
