"""Bad input from Python and through the procedures in SQL: our errors, no cells, no traces."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbdeid
from bad_input.place import CANARIES, PEOPLE, changed, objects
from bad_input.runner import INTERNALS

Con = duckdb.DuckDBPyConnection


@pytest.fixture
def con(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Con]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with duckdb.connect("mine.duckdb") as connection:
        connection.execute(PEOPLE)
        yield connection


def spec(**more: Any) -> dict[str, Any]:
    return changed({"database": None, "target": None, "evaluate": {"metrics": []}, **more})


def state(con: Con) -> list[Any]:
    """What a caller can see of his connection."""
    queries = (
        "SELECT current_database(), current_schema(), current_setting('search_path')",
        "SELECT database_name, readonly FROM duckdb_databases() ORDER BY ALL",
        "SELECT name, value FROM duckdb_settings() WHERE name <> 'Calendar' ORDER BY ALL",
        "SELECT table_name FROM duckdb_tables() WHERE temporary",
    )
    with con.cursor() as cursor:
        return [objects(cursor), *(cursor.execute(query).fetchall() for query in queries)]


def told(error: BaseException) -> str:
    text = str(error)
    assert not any(canary in text for canary in CANARIES), text
    return text


SPECS: dict[str, tuple[Any, str]] = {
    "None": (None, "a path, a text or a dict"),
    "a number": (3, "a path, a text or a dict"),
    "a truth": (True, "a path, a text or a dict"),
    "bytes": (b"release: x", "a path, a text or a dict"),
    "a list": ([], "a path, a text or a dict"),
    "a set": ({"release"}, "a path, a text or a dict"),
    "a function": (print, "a path, a text or a dict"),
    "a result": (object(), "a path, a text or a dict"),
    "an empty dict": ({}, "release: visits_public"),
    "an empty text": ("", "YAML file"),
    "blanks": ("   ", "YAML file"),
    "a path of a folder": (Path("folder"), "YAML file"),
    "a path of nothing": (Path("missing.yml"), "YAML file"),
    "text of nothing": ("missing.yml", "YAML file"),
    "a text with NUL": ("a\0b", "YAML file"),
    "SQL": ("SELECT 1", "YAML file"),
    "keys that are numbers": ({1: 2}, "release: visits_public"),
    "a dict of objects": ({"release": object()}, "in quotes"),
    "a dict of bytes": ({"release": b"x"}, "release"),
    "k as text": (spec(**{"privacy/0/k": "5"}), "write 5, without quotes"),
    "a table that is not there": (spec(source="nobody"), "Known: "),
    "a cast that fails on a cell": (
        spec(source={"sql": "SELECT * REPLACE (illness::INT AS illness) FROM people", "name": "p"}),
        "-vv",
    ),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("function", ["run", "check", "verify", "evaluate"])
@pytest.mark.parametrize("what", SPECS)
def test_specs(con: Con, what: str, function: str, counted: Any) -> None:
    given, hint = SPECS[what]
    before = state(con)
    with pytest.raises(dbdeid.DbdeidError) as refused:
        getattr(dbdeid, function)(given, con)
    if function in ("run", "check") or ("cast" not in what and "table" not in what):
        assert hint in told(refused.value)
    assert INTERNALS.search(told(refused.value)) is None
    assert state(con) == before
    counted("python", what)


@pytest.mark.parametrize(
    "given", [1, "mine.duckdb", object(), print], ids=["number", "path", "object", "function"]
)
@pytest.mark.parametrize("function", ["run", "check", "verify", "evaluate", "install"])
def test_no_connections(con: Con, given: Any, function: str, counted: Any) -> None:
    words = (given,) if function == "install" else (spec(), given)
    with pytest.raises(dbdeid.DataError, match="connection"):
        getattr(dbdeid, function)(*words)
    counted("python", function)


@pytest.mark.parametrize("function", ["run", "check", "verify", "evaluate", "install"])
def test_a_closed_connection(con: Con, function: str, counted: Any) -> None:
    closed = con.cursor()
    closed.close()
    words = (closed,) if function == "install" else (spec(), closed)
    with pytest.raises(dbdeid.DataError, match="connection is closed"):
        getattr(dbdeid, function)(*words)
    counted("python", function)


SETTINGS = {
    "default_collation": "NOCASE",
    "default_order": "DESC",
    "default_null_order": "NULLS_FIRST",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_make_another_release(con: Con, name: str, counted: Any) -> None:
    con.execute(f"SET {name} = '{SETTINGS[name]}'")
    before = state(con)
    with pytest.raises(dbdeid.DataError, match=f"RESET {name}"):
        dbdeid.run(spec(), con)
    assert state(con) == before
    con.execute(f"RESET {name}")
    assert dbdeid.run(spec(), con).verified
    counted("python", name)


LEGAL: dict[str, Callable[[Con], Any]] = {
    "preserve_insertion_order": lambda con: con.execute("SET preserve_insertion_order = false"),
    "one thread": lambda con: con.execute("SET threads = 1"),
    "another time zone": lambda con: con.execute("SET TimeZone = 'Asia/Tokyo'"),
    "integer division": lambda con: con.execute("SET integer_division = true"),
    "a schema in use": lambda con: con.execute("USE clinic"),
    "a search path": lambda con: con.execute("SET search_path = 'clinic,main'"),
    "a temporary table of the name": lambda con: con.execute(
        "CREATE TEMP TABLE deid_source (a INT)"
    ),
    "an open transaction": lambda con: con.execute("BEGIN"),
    "a failed transaction": lambda con: _fail(con),
    "a prepared statement": lambda con: con.execute("PREPARE q AS SELECT 1"),
    "a frame called like the table": lambda con: con.register(
        "people_public_", con.sql("SELECT 1").df()
    ),
}


def _fail(con: Con) -> None:
    con.execute("BEGIN")
    with pytest.raises(duckdb.Error):
        con.execute("SELECT nothing")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("what", LEGAL)
def test_connections_in_an_odd_state(con: Con, what: str, counted: Any) -> None:
    LEGAL[what](con)
    before = state(con)
    result = dbdeid.run(spec(), con)
    with con.cursor() as cursor:
        sizes = "SELECT count(*) FROM main.people_public GROUP BY age, zip, sex"
        assert min(n for (n,) in cursor.execute(sizes).fetchall()) == result.smallest_class
    after = state(con)
    assert after[1:] == before[1:]
    assert {name: after[0][name] for name in before[0]} == before[0]
    counted("hostile but legal", what)


def test_install_keeps_the_result_that_is_not_fetched_yet(con: Con, counted: Any) -> None:
    con.execute("SELECT i FROM range(5000) AS r(i)")
    assert con.fetchone() == (0,)
    with pytest.raises(dbdeid.DataError, match="fetch all rows"):
        dbdeid.install(con)
    assert con.fetchone() == (1,)
    assert len(con.fetchall()) == 4998
    dbdeid.install(con)
    assert con.execute("SELECT deid.k('people', ['sex'])").fetchone()
    counted("python", "install")


PROCEDURES = {
    "a path of nothing": ("missing.yml", "YAML file"),
    "an empty text": ("", "YAML file"),
    "a text": ("release: x", "privacy"),
    "no YAML": ("{a: [", "not closed"),
    "k larger than the table": (json.dumps(spec(**{"privacy/0/k": 201})), "201"),
    "a column that is not there": (
        json.dumps(spec(**{"columns/agee": "drop"})),
        "did you mean 'age'",
    ),
    "a cast that fails on a cell": (
        json.dumps(spec(source={"sql": "SELECT name::INT AS name FROM people", "name": "p"})),
        "",
    ),
    "a value without a leaf": (
        json.dumps(spec(**{"columns/sex/hierarchy": {"groups": [{"a": ["f"]}]}})),
        "1 of 2 values",
    ),
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("procedure", ["deid_run", "deid_check"])
@pytest.mark.parametrize("what", PROCEDURES)
def test_procedures(con: Con, what: str, procedure: str, counted: Any) -> None:
    dbdeid.install(con)
    before = state(con)
    given, said = PROCEDURES[what]
    with pytest.raises(duckdb.Error) as refused:
        con.execute(f"SELECT {procedure}(?)", [given]).fetchall()
    assert said in told(refused.value)
    assert re.search("(Spec|Hierarchy|Data)Error: |Unsatisfiable: ", told(refused.value))
    assert "Hint: " in told(refused.value)
    assert state(con) == before
    counted("procedures", what)
