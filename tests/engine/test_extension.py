"""The extension of DuckDB: it has the macros that are installed, and touches no database."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import duckdb
import pytest
from ruamel.yaml import YAML

from dbdeid.engine.duckdb import macros
from dbdeid.errors import DataError

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "extension" / "build.py"
VISITS = "CREATE TABLE visits AS SELECT i % 4 AS age, i % 2 AS sex FROM range(10) AS numbers(i)"
HIERARCHY = (
    "INSERT INTO deid.hierarchies (release, hierarchy, level, value, label) "
    "VALUES ('', 'age', 0, '20', '20'), ('', 'age', 1, '20', '*')"
)
ASKED = (
    "SELECT deid.k('visits', ['age', 'sex'])",
    "FROM deid.risk('visits', ['age'])",
    "SELECT deid.interval_label(37, 10)",
    "SELECT deid.generalize(20, 'age', 1)",
    "FROM deid.classes('visits', ['age'], null_policy := 'exclude') ORDER BY ALL",
)


def script() -> Any:
    spec = spec_from_file_location("extension_build", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def connected(path: str | Path = ":memory:", **options: Any) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(path, config={"allow_unsigned_extensions": True}, **options)


def functions(con: duckdb.DuckDBPyConnection) -> list[Any]:
    return con.execute(
        "SELECT function_name, function_type, parameters, macro_definition, comment "
        "FROM duckdb_functions() WHERE 'deid' IN (database_name, schema_name) ORDER BY ALL"
    ).fetchall()


def installed() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    macros.install(con)
    return con


@pytest.mark.full
def test_its_statements_make_the_macros_that_are_installed() -> None:
    con = duckdb.connect()
    con.execute("ATTACH ':memory:' AS deid")
    con.execute(script().script())
    assert functions(con) == functions(installed())
    assert len(functions(con)) == len(macros.MACROS)
    schemas = con.execute("SELECT 1 FROM duckdb_schemas() WHERE schema_name = 'deid'").fetchall()
    assert schemas == []


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the script writes, with the headers of DUCKDB_HEADERS or of npm."""
    if shutil.which(os.environ.get("CC", "cc").split()[0]) is None:
        pytest.skip("the extension is not built: no C compiler, neither cc nor CC")
    headers = os.environ.get("DUCKDB_HEADERS")
    if headers is None:
        try:
            headers = str(script().fetch_headers(tmp_path_factory.mktemp("headers")))
        except OSError as error:
            pytest.skip(f"the extension is not built: no DUCKDB_HEADERS, and npm failed ({error})")
    out = tmp_path_factory.mktemp("extension")
    given = ["--repository", "owner/name", "--ref", "abc", "--maintainer", "somebody"]
    command = [sys.executable, str(SCRIPT), str(out), "--headers", headers, *given]
    subprocess.run(command, check=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})
    return out


def load(built: Path) -> str:
    return f"LOAD '{built / 'dbdeid.duckdb_extension'}'"


@pytest.mark.full
def test_loaded_macros_answer_as_installed_ones(built: Path) -> None:
    loaded, other = connected(), installed()
    loaded.execute(load(built))
    assert functions(loaded) == functions(other)
    for con in (loaded, other):
        con.execute(VISITS)
        con.execute(HIERARCHY)
    for query in ASKED:
        # of another connection, too: the database is attached for all
        assert loaded.cursor().execute(query).fetchall() == other.execute(query).fetchall(), query


@pytest.mark.full
@pytest.mark.parametrize("read_only", [False, True])
def test_loading_changes_no_database(built: Path, tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "hospital.duckdb"
    with duckdb.connect(path) as con:
        con.execute(VISITS)
    before = sha256(path.read_bytes()).hexdigest()
    with connected(path, read_only=read_only) as con:
        con.execute(load(built))
        con.execute(load(built))
        assert con.execute("SELECT deid.k('visits', ['age'])").fetchall() == [(2,)]
        con.execute(HIERARCHY)
    assert sha256(path.read_bytes()).hexdigest() == before
    with duckdb.connect(path) as con, pytest.raises(duckdb.Error):
        con.execute("SELECT deid.k('visits', ['age'])")


@pytest.mark.full
@pytest.mark.parametrize(
    ("made", "removed"),
    [
        ("CREATE SCHEMA deid; CREATE TABLE deid.mine AS SELECT 1 AS x", "DROP SCHEMA deid CASCADE"),
        # macros of an earlier version
        ("CREATE SCHEMA deid; CREATE MACRO deid.k(x) AS x + 1", "DROP SCHEMA deid CASCADE"),
        ("ATTACH ':memory:' AS deid; CREATE TABLE deid.mine AS SELECT 1 AS x", "DETACH deid"),
    ],
)
def test_a_name_that_is_taken_stays_with_its_owner(built: Path, made: str, removed: str) -> None:
    con = connected()
    con.execute(made)
    everything = (
        "SELECT database_name, schema_name, function_name FROM duckdb_functions() UNION ALL "
        "SELECT database_name, schema_name, table_name FROM duckdb_tables() UNION ALL "
        "SELECT database_name, path, type FROM duckdb_databases() ORDER BY ALL"
    )
    before = con.execute(everything).fetchall()
    with pytest.raises(duckdb.Error, match="If the name deid is taken: DETACH"):
        con.execute(load(built))
    assert con.execute(everything).fetchall() == before
    con.execute(removed)
    con.execute(load(built))
    assert con.execute("SELECT deid.bin(37, 10)").fetchall() == [(30,)]


@pytest.mark.full
@pytest.mark.parametrize(
    "broken", ["BEGIN; CREATE TABLE deid.t (x INTEGER); FROM none", "BEGIN; ?"]
)
def test_macros_that_this_duckdb_cannot_make(built: Path, tmp_path: Path, broken: str) -> None:
    copied = shutil.copytree(built, tmp_path / "broken")
    (copied / "src" / "macros.h").write_text(script().embedded(broken))
    script().compile_extension(copied)
    con = connected()
    with pytest.raises(duckdb.Error, match="could not make it; nothing was changed"):
        con.execute(load(copied))
    attached = con.execute("SELECT database_name FROM duckdb_databases() ORDER BY ALL").fetchall()
    assert attached == [("memory",), ("system",), ("temp",)]


@pytest.mark.full
def test_a_schema_that_comes_later_is_not_mistaken(built: Path) -> None:
    con = connected()
    con.execute(load(built))
    con.execute("ATTACH ':memory:' AS hospital; CREATE SCHEMA hospital.deid")
    con.execute(VISITS.replace("visits", "hospital.visits"))
    assert con.execute("SELECT deid.k('hospital.visits', ['age'])").fetchall() == [(2,)]
    con.execute("USE hospital")
    with pytest.raises(duckdb.Error, match='Ambiguous reference to catalog or schema "deid"'):
        con.execute("SELECT deid.bin(37, 10)")
    assert con.execute("SELECT deid.main.bin(37, 10)").fetchall() == [(30,)]
    con.execute("USE memory")
    with pytest.raises(DataError) as refused:
        macros.install(con)
    assert "DETACH deid" in str(refused.value.hint)


@pytest.mark.full
def test_what_the_community_repository_gets(built: Path) -> None:
    described = YAML(typ="safe").load(built / "description.yml")
    assert set(described) == {"extension", "repo", "docs"}
    assert described["repo"] == {"github": "owner/name", "ref": "abc"}
    con = connected()
    con.execute(load(built))
    con.execute(described["docs"]["hello_world"])
    assert len(con.fetchall()) == 1


@pytest.mark.full
def test_its_own_test_holds(built: Path) -> None:
    con = connected()
    con.execute(load(built))
    blocks = (built / "test" / "sql" / "dbdeid.test").read_text().split("\n\n")[2:]
    assert len(blocks) == 4
    for block in blocks:
        head, _, body = block.partition("\n")
        statement, _, wanted = body.partition("\n----\n")
        found = con.execute(statement).fetchall()
        assert head == "statement ok" or found == [(int(wanted),)], statement
