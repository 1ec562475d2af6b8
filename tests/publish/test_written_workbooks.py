"""Releases written to workbooks: what comes back of every value, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import fastexcel
import pandas as pd
import pytest
from specs import unmeasured
from typer.testing import CliRunner

import dbdeid
from dbdeid.cli.app import app
from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Relation
from dbdeid.errors import DataError, MissingExtra
from dbdeid.publish import copying
from dbdeid.serve.served import served
from dbdeid.verify.base import workbooks as read

VALUES = """SELECT i::TINYINT AS a, (i * 142857142857142)::BIGINT AS b, (i || '0000')::HUGEINT AS c,
  i / 7.0::DOUBLE AS d, (i / 7.0)::FLOAT AS e, (i / 4.0)::DECIMAL(9, 2) AS f,
  (i / 4.0)::DECIMAL(30, 10) AS g, i % 2 = 0 AS h, DATE '1850-01-01' + i::INTEGER AS j,
  TIMESTAMP '2020-01-01 01:02:03.123456' AS k,
  ['=1+1', NULL, '\t"<&>&amp;é' || chr(10), ' 007 ', '😀', '+1', '<r>'][i + 1] AS "l ""m"" é",
  -1e300::DOUBLE AS n, 1e-7::DECIMAL(15, 10) AS o, TIMESTAMP_S '2020-01-01 01:02:03' AS p,
  CASE WHEN i > 0 THEN 9007199254740993::DOUBLE / i END AS q, ['x', 'y, z'] AS r,
  TIME '01:02:03' AS s
  FROM range(7) AS r(i)"""


@pytest.fixture
def session() -> Iterator[Session]:
    with Session.open(None, read_only=False) as opened:
        opened.keep_order()
        yield opened


def write(session: Session, query: str, path: Path) -> Path:
    session.execute(f"CREATE OR REPLACE TEMP TABLE sent AS {query}")
    copying.copy(session, Relation("sent"), path)
    return path


def test_values_of_every_type_arrive(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(session, VALUES, tmp_path / "values.xlsx")
    columns = session.describe(Relation("sent").table)
    found, checks = read.exported(session, path, columns, "found")
    assert all(c.holds for c in checks), checks
    assert session.rows("FROM found") == session.rows("FROM sent")
    assert found.columns == columns
    assert {p.name for p in tmp_path.iterdir()} == {"values.xlsx"}
    first = path.read_bytes()
    session.execute("SET threads = 1")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    old = os.umask(0)
    try:
        assert write(session, VALUES, tmp_path / "again.xlsx").read_bytes() == first
    finally:
        os.umask(old)
        monkeypatch.undo()
        time.tzset()


def test_other_programs_find_the_same_values(session: Session, tmp_path: Path) -> None:
    path = write(session, VALUES, tmp_path / "values.xlsx")
    sent = session.execute("SELECT * REPLACE (e::VARCHAR::DOUBLE AS e) FROM sent").df()
    sheet = fastexcel.read_excel(path).load_sheet(0, schema_sample_rows=None).to_pandas()
    for found in (
        sheet,
        pd.read_excel(path, engine="openpyxl", keep_default_na=False, na_values=[]),
    ):
        assert list(found) == list(sent)
        for name in "abcdefgno":
            assert found[name].astype(float).tolist() == sent[name].astype(float).tolist()
        assert found["h"].tolist() == [True, False] * 3 + [True]
        assert found["j"].tolist() == [f"1850-01-0{i}" for i in range(1, 8)]
        assert found["k"].tolist() == ["2020-01-01 01:02:03.123456"] * 7
        texts = ["=1+1", '\t"<&>&amp;é\n', " 007 ", "😀", "+1", "<r>"]
        assert [t for t in found['l "m" é'].tolist() if t] == texts
        numbers = [float(n) for n in found["q"].tolist()[1:]]
        assert numbers == [9007199254740992.0 / i for i in range(1, 7)]


REFUSED = {
    "an empty text": ("SELECT '' AS a", "'a' is an empty text, which a workbook shows as NULL"),
    "a NUL": ("SELECT 'patient' || chr(0) AS a", "has no place for"),
    "a bell": ("SELECT 'patient' || chr(7) AS a", "has no place for"),
    "a carriage return": ("SELECT 'patient' || chr(13) AS a", "has no place for"),
    "no character": ("SELECT 'patient' || chr(65535) AS a", "has no place for"),
    "an escape": ("SELECT 'patient_x0041_' AS a", "takes for an escaped sign"),
    "an escape in small letters": ("SELECT 'patient_x00e9_' AS a", "takes for an escaped sign"),
    "fonts": ("SELECT '<r><t>patient</t></r>' AS a", "a text with fonts"),
    "a long text": ("SELECT repeat('patient', 5000) AS a", "more than 32,767 characters"),
    "a long text of pairs": ("SELECT repeat('😀', 16384) AS a", "more than 32,767 characters"),
    "many lines": ("SELECT repeat('a' || chr(10), 254) AS a", "more than 253 line feeds"),
    "16 digits": ("SELECT 1234567890123456 AS a", "more than 15 digits, which Excel rounds"),
    "beyond 2^53": ("SELECT -9007199254740993 AS a", "more than 15 digits"),
    "a wide number": ("SELECT 1234567890123456::HUGEINT AS a", "more than 15 digits"),
    "a decimal": ("SELECT 1234567.1234567890::DECIMAL(20, 10) AS a", "more than 15 digits"),
    "NaN": ("SELECT 'NaN'::DOUBLE AS a", "NaN or infinite"),
    "infinity": ("SELECT '-Infinity'::FLOAT AS a", "NaN or infinite"),
    "a tiny number": ("SELECT 1e-310::DOUBLE AS a", "nearer to 0"),
    "a record of nothing": ("SELECT NULL::INTEGER AS a UNION ALL SELECT 1", "would be no row"),
    "the name of a column": ('SELECT 1 AS "patient_x0041_"', "a name of a column holds"),
    "many records": ("SELECT 1 AS a FROM range(100001)", "100,001 records of 1 columns are more"),
    "many cells": (
        f"SELECT {', '.join(f'1 AS c{i}' for i in range(11))} FROM range(95000)",
        "1,000,000 cells that are written",
    ),
    "many columns": pytest.param(
        f"SELECT {', '.join(f'1 AS c{i}' for i in range(16385))}",
        "16,385 columns are more than the 16,384",
        marks=pytest.mark.full,
    ),
}


@pytest.mark.parametrize(("query", "words"), REFUSED.values(), ids=[*REFUSED])
def test_what_would_not_come_back(session: Session, tmp_path: Path, query: str, words: str) -> None:
    with pytest.raises(DataError) as caught:
        write(session, query, tmp_path / "values.xlsx")
    assert words in caught.value.message
    assert caught.value.hint == "export .csv or .parquet instead"
    assert "patient" not in str(caught.value)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT repeat('é', 32767) AS a",
        "SELECT repeat('a' || chr(10), 253) AS a",
        "SELECT -999999999999999 AS a, 0.000000000000000000000123::DECIMAL(38, 24) AS b",
        "SELECT '_x004_' AS a, 'x0041_' AS b",
    ],
)
def test_what_just_fits(session: Session, tmp_path: Path, query: str) -> None:
    path = write(session, query, tmp_path / "values.xlsx")
    _, checks = read.exported(session, path, session.describe(Relation("sent").table), "found")
    assert all(c.holds for c in checks), checks


@pytest.mark.full
def test_columns_of_three_letters(session: Session, tmp_path: Path) -> None:
    names = ", ".join(f"{i} AS c{i}" for i in range(710))
    path = write(session, f"SELECT {names}", tmp_path / "values.xlsx")
    columns = session.describe(Relation("sent").table)
    _, checks = read.exported(session, path, columns, "found")
    assert all(c.holds for c in checks)
    assert session.rows("FROM found") == session.rows("FROM sent")


# -- releases ------------------------------------------------------------------------------------

QI = ["--qi", "age", "--qi", "sex", "--qi", "zip", "--k", "2"]


def spec(**more: Any) -> dict[str, Any]:
    made = unmeasured(target="out.duckdb", output={"export": ["public.xlsx", "public.csv"]})
    return made | {"database": "owner.duckdb", "privacy": [{"model": "k_anonymity", "k": 2}]} | more


@pytest.fixture
def place(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(shelf, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    Path("spec.json").write_text(json.dumps(spec()))
    return tmp_path


def test_a_release_and_its_dictionary_are_written_and_verified(place: Path) -> None:
    left = {p.name for p in place.iterdir()}
    assert {"public.xlsx", "public_dictionary.xlsx"} <= left
    found = dbdeid.verify(spec())
    assert found.verified, found.failures
    assert "container (public.xlsx)" in {c.check for c in found.hygiene}
    run = CliRunner()
    assert run.invoke(app, ["verify", "public.xlsx", *QI]).exit_code == 0
    later = run.invoke(app, ["export", "spec.json", "later.xlsx"])
    assert later.exit_code == 0, later.output
    assert Path("later.xlsx").read_bytes() == Path("public.xlsx").read_bytes()
    given = run.invoke(app, ["export", "spec.json", "sent/"])
    assert given.exit_code == 0, given.output
    assert Path("sent/public.xlsx").read_bytes() == Path("public.xlsx").read_bytes()
    (manifest,) = Path("sent").glob("*.json")
    held = ["verify", "sent/public.xlsx", "--manifest", str(manifest)]
    done = run.invoke(app, held)
    assert done.exit_code == 0, done.output
    with Path("sent/public_dictionary.xlsx").open("ab") as file:
        file.write(b"\0")
    assert run.invoke(app, held).exit_code == 4


def test_it_answers_as_the_csv_does(place: Path) -> None:
    asked = "SELECT sex, COUNT(*), AVG(age) FROM people GROUP BY sex ORDER BY sex"
    one, other = (dbdeid.query(name, asked) for name in ("public.xlsx", "public.csv"))
    assert (one.columns, one.types, one.rows) == (other.columns, other.types, other.rows)


@pytest.mark.full
def test_a_changed_workbook_is_told_by_its_spec(place: Path) -> None:
    with Path("public.xlsx").open("ab") as file:
        file.write(b"\0")
    found = dbdeid.verify(spec())
    assert not found.verified
    assert any("container" in failure for failure in found.failures)


@pytest.mark.full
def test_a_value_without_a_place_replaces_nothing(place: Path) -> None:
    before = {p.name: p.read_bytes() for p in place.iterdir() if p.name != "owner.duckdb"}
    with duckdb.connect("owner.duckdb") as con:
        con.execute("UPDATE people SET illness = '' WHERE illness = 'flu'")
    with pytest.raises(DataError, match=r"public\.xlsx: a value of 'illness' is an empty text"):
        dbdeid.run(spec())
    after = {p.name: p.read_bytes() for p in place.iterdir() if p.name != "owner.duckdb"}
    assert after.keys() == before.keys()
    assert {n for n in after if after[n] != before[n]} <= {"out.private.duckdb"}
    dbdeid.run(spec(output={"export": ["public.csv"]}))


def test_a_missing_library_is_told_before_the_search(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(
        MissingExtra, match=r"'XlsxWriter'\n  Hint: pip install 'dbdeid\[sources\]'"
    ):
        dbdeid.run(spec(privacy=[{"model": "k_anonymity", "k": 10**6}]))
    assert dbdeid.verify(spec()).verified  # reading one needs nothing


def test_it_is_served(place: Path) -> None:
    with served([Path("public.xlsx")]) as found:
        (table,) = found.tables
        assert table.name == "public"
        assert [*table.columns] == ["age", "zip", "sex", "illness"]


def test_a_source_that_is_too_large_is_told_before_the_search(place: Path) -> None:
    before = {p.name: p.read_bytes() for p in place.glob("public*")}
    with duckdb.connect("owner.duckdb") as con:
        con.execute("INSERT INTO people SELECT p.* FROM people AS p, range(600)")
        (count,) = con.execute("SELECT count(*) FROM people").fetchone() or (0,)
    words = f"public.xlsx: a release of {count:,} records has more than the 100,000"
    with pytest.raises(DataError, match=words):
        dbdeid.run(spec(privacy=[{"model": "k_anonymity", "k": 10**9}]))
    assert {p.name: p.read_bytes() for p in place.glob("public*")} == before
