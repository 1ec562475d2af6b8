"""Installing the macros: anywhere, all or none, and for good."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from dbdeid.engine.duckdb import macros
from dbdeid.engine.failure import EngineError
from dbdeid.errors import DataError

PLAIN = """
import sys, duckdb
con = duckdb.connect(sys.argv[1], read_only=True)
assert not any(name.startswith("dbdeid") for name in sys.modules)
assert con.execute("SELECT deid.k('released', ['age', 'sex'])").fetchall() == [(2,)]
assert con.execute("SELECT k FROM deid.risk('released', ['age'])").fetchall() == [(2,)]
assert con.execute("SELECT deid.check('released', ['age'], 2)").fetchall() == [(True,)]
for how, k in (("subject := 'sex'", 1), ("null_policy := 'wildcard'", 2),
               ("subject := 'sex', null_policy := 'exclude'", 1)):
    assert con.execute(f"SELECT deid.k('released', ['age'], {how})").fetchall() == [(k,)]
assert con.execute("SELECT deid.overlap('[0, 4)', 1, 2)").fetchall() == [(0.25,)]
names = {name for (name,) in con.execute(
    "SELECT function_name FROM duckdb_functions() WHERE schema_name = 'deid'").fetchall()}
tables = {name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
if sys.argv[2] == "private":
    assert "hierarchies" in tables
    assert con.execute("SELECT deid.generalize(20, 'age', 1)").fetchall() == [("*",)]
else:
    assert tables == {"released"}, tables
    assert not names & {"generalize", "lca", "loss", "label_loss"}, names
con.close()
"""


def functions(con: duckdb.DuckDBPyConnection, catalog: str) -> int:
    query = (
        "SELECT count(*) FROM duckdb_functions() "
        "WHERE schema_name = 'deid' AND database_name = $catalog"
    )
    ((count,),) = con.execute(query, {"catalog": catalog}).fetchall()
    return int(count)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["private", "public"])
def test_an_exported_file_works_in_plain_duckdb(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "adult public.duckdb"
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{file}' AS published (STORAGE_VERSION 'v1.2.0')")
        con.execute(
            "CREATE TABLE published.released AS "
            "SELECT * FROM (VALUES ('20', 'm'), ('20', 'm'), ('30', 'f'), ('30', 'f')) v(age, sex)"
        )
        macros.install(con, "published", private=kind == "private")
        if kind == "private":
            con.execute(
                "INSERT INTO published.deid.hierarchies SELECT '', 'age', unnest([0, 1]), '20', "
                "unnest(['20', '*']), unnest([0, 1]), NULL, NULL"
            )
        con.execute("DETACH published")
    subprocess.run([sys.executable, "-I", "-c", PLAIN, str(file), kind], check=True)


@pytest.mark.full
def test_the_current_database_stays_what_it_was() -> None:
    with duckdb.connect() as con:
        con.execute("ATTACH ':memory:' AS \"it's other\"; CREATE SCHEMA s; USE s")
        macros.install(con, "it's other")
        state = con.execute("SELECT current_schema(), current_setting('search_path')").fetchall()
        assert state == [("s", "memory.s")]
        assert functions(con, "it's other") == len(macros.MACROS)
        assert functions(con, "memory") == 0


@pytest.mark.full
def test_installing_again_keeps_the_hierarchies() -> None:
    with duckdb.connect() as con:
        macros.install(con)
        con.execute("INSERT INTO deid.hierarchies VALUES ('', 'a', 0, 'x', 'x', 0, NULL, NULL)")
        assert macros.install(con) == macros.MACROS
        assert con.execute("SELECT count(*) FROM deid.hierarchies").fetchall() == [(1,)]
        assert functions(con, "memory") == len(macros.MACROS)


def test_a_failure_installs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = macros.Macro(
        "z", "", "scalar", "", False, "", "", "", "CREATE MACRO deid.z() AS (oops"
    )
    monkeypatch.setattr(macros, "MACROS", (*macros.MACROS, broken))
    with duckdb.connect() as con:
        con.execute("ATTACH ':memory:' AS other")
        with pytest.raises(EngineError, match="syntax error"):
            macros.install(con, "other")
        assert functions(con, "other") == 0
        schemas = "SELECT count(*) FROM duckdb_schemas() WHERE schema_name = 'deid'"
        assert con.execute(schemas).fetchall() == [(0,)]
        assert con.execute("SELECT current_database()").fetchall() == [("memory",)]


def test_a_transaction_of_the_caller_decides() -> None:
    with duckdb.connect() as con:
        con.execute("BEGIN")
        macros.install(con)
        assert functions(con, "memory") == len(macros.MACROS)
        con.execute("ROLLBACK")
        assert functions(con, "memory") == 0


def test_a_read_only_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.duckdb"
    duckdb.connect(str(file)).close()
    with duckdb.connect(str(file), read_only=True) as con, pytest.raises(EngineError):
        macros.install(con)


def test_a_published_release_is_known_by_what_its_schema_holds() -> None:
    with duckdb.connect() as con:
        assert not macros.in_release(con)
        con.execute("ATTACH ':memory:' AS given; ATTACH ':memory:' AS own")
        macros.install(con, "given", private=False)
        macros.install(con, "own")
        assert macros.in_release(con, "given")
        assert not macros.in_release(con, "own")
        assert not macros.in_release(con)
        con.execute("USE given")
        assert macros.in_release(con)
        with pytest.raises(DataError, match="a published release is not changed"):
            macros.install(con)
        assert con.sql("SELECT 1").fetchall() == [(1,)]
        # a database with macros and a book is its owner's
        con.execute("CREATE TABLE deid.releases (release VARCHAR)")
        assert not macros.in_release(con)


def test_a_database_named_like_the_schema_is_refused(tmp_path: Path) -> None:
    with (
        duckdb.connect(str(tmp_path / "deid.duckdb")) as con,
        pytest.raises(DataError, match="hides the schema") as error,
    ):
        macros.install(con)
    assert "another name" in error.value.hint
