"""The session: all or nothing, no cells in messages, the caller's connection left as it was."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest
import sqlglot

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Column
from dbdeid.engine.session import Settings, Step
from dbdeid.errors import DataError

CELL = "SELECT CAST('secret' || i AS INTEGER) AS a FROM range(10) t(i)"
LATE = (
    "SELECT CASE WHEN i = 900000 THEN CAST('secret' || i AS INTEGER) ELSE 1 END AS a "
    "FROM range(1000000) t(i)"
)


@pytest.fixture
def session():
    with Session.open(None, read_only=False) as opened:
        yield opened


def database(path: Path) -> Path:
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS a")
    return path


@pytest.mark.parametrize("query", [CELL, LATE, "SELECT error('secret')"])
@pytest.mark.parametrize("fetch", ["rows", "arrays"])
def test_no_error_quotes_a_cell_even_while_fetching(session, query: str, fetch: str) -> None:
    with pytest.raises(EngineError) as refused:
        getattr(session, fetch)(query)
    assert "secret" not in f"{refused.value}{refused.value.__cause__}"
    assert refused.value.__suppress_context__


def test_constraint_errors_quote_no_cell(session) -> None:
    session.execute("CREATE TABLE p (name VARCHAR PRIMARY KEY)")
    with pytest.raises(EngineError) as refused:
        session.execute("INSERT INTO p VALUES ('secret'), ('secret')")
    assert "secret" not in str(refused.value)


def test_ctrl_c_inside_a_function_of_python_is_an_interrupt() -> None:
    def interrupted(x: object) -> object:
        raise KeyboardInterrupt

    with duckdb.connect() as con:
        con.create_function("f", interrupted, ["BIGINT"], "BIGINT", type="arrow")
        with Session.over(con, None, read_only=False) as session, pytest.raises(KeyboardInterrupt):
            session.rows("SELECT f(1)")


def doomed(session: Session, last: str) -> None:
    with session.transaction():
        session.execute("CREATE TABLE x AS SELECT 1")
        if last == "swallow":
            with suppress(EngineError):
                session.execute(CELL)
            return
        if last != "raise":
            session.execute(last)
        raise KeyError("mine")


@pytest.mark.parametrize(
    ("last", "error", "words"),
    [
        ("raise", KeyError, "mine"),
        ("FROM nowhere", EngineError, "Catalog"),
        ("ROLLBACK", KeyError, "mine"),
        ("swallow", EngineError, "aborted"),
    ],
)
def test_a_failed_transaction_leaves_nothing_and_tells_why(session, last, error, words) -> None:
    with pytest.raises(error, match=words):
        doomed(session, last)
    assert session.exists("x") is None
    with session.transaction():
        session.execute("CREATE TABLE x AS SELECT 1")
    assert session.exists("x") == "table"


NAMES = ["my db", "select", 'a"b', "q'q", "x.y", "a;b", "ünï", "main", "temp", "memory", "SYSTEM"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [*NAMES, "deid", "HOME"])
def test_any_file_name_attaches_beside_anything(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    path = database(folder / f"{name}.duckdb")
    with Session.open(path, read_only=False) as own:
        if name not in ("main", "temp"):
            own.execute(f'CREATE SCHEMA "{name.replace(chr(34), chr(34) * 2)}"')
        assert own.tables() == ["t"]
    with duckdb.connect(str(database(tmp_path / "home.duckdb"))) as con:
        with Session.over(con, path, read_only=True) as guest:
            assert guest.rows("FROM t") == [(1,)]
            assert guest.catalog != "home"
        assert con.sql("SELECT current_database()").fetchall() == [("home",)]
        assert len(con.sql("SHOW DATABASES").fetchall()) == 1


def test_the_caller_finds_everything_as_it_was(tmp_path: Path) -> None:
    path = database(tmp_path / "other.duckdb")
    with duckdb.connect() as con:
        con.execute("ATTACH ':memory:' AS mine")
        con.execute("CREATE SCHEMA mine.s; USE mine.s; CREATE TEMP TABLE kept AS SELECT 7 AS a")
        con.execute("SET threads = 2")
        with Session.over(con, path, read_only=False) as guest:
            guest.execute("CREATE TEMP TABLE kept AS SELECT 8 AS a")
            guest.attach_new(tmp_path / "new.duckdb")
        assert con.sql("FROM kept").fetchall() == [(7,)]
        assert con.sql("SELECT current_database(), current_schema()").fetchall() == [("mine", "s")]
        assert {row[0] for row in con.sql("SHOW DATABASES").fetchall()} == {"memory", "mine"}
        assert con.sql("SELECT current_setting('threads')").fetchall() == [(2,)]


def test_a_result_that_the_caller_has_not_fetched_survives(tmp_path: Path) -> None:
    path = database(tmp_path / "other.duckdb")
    with duckdb.connect() as con:
        con.execute("FROM range(5)")
        for file in (None, path):
            with Session.over(con, file, read_only=True) as guest:
                assert guest.rows("SELECT 1") == [(1,)]
        assert len(con.fetchall()) == 5


def test_the_callers_current_database_is_the_owners() -> None:
    with duckdb.connect() as con:
        con.execute("ATTACH ':memory:' AS mine; USE mine; CREATE TABLE t AS SELECT 1 AS a")
        with Session.over(con, None, read_only=False) as guest:
            assert (guest.catalog, guest.tables()) == ("mine", ["t"])
        con.execute("FROM t")
        with pytest.raises(DataError, match="which database"):
            Session.over(con, None, read_only=False)


def test_a_file_that_is_attached_already_is_not_attached_again(tmp_path: Path) -> None:
    path = database(tmp_path / "other.duckdb")
    with duckdb.connect(str(path)) as con:
        with Session.over(con, tmp_path / "." / "other.duckdb", read_only=True) as guest:
            assert guest.catalog == "other"
        assert con.sql("FROM t").fetchall() == [(1,)]


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    folder = tmp_path / "lockhart's"
    folder.mkdir()
    (folder / "junk.duckdb").write_bytes(b"no database" * 100)
    (folder / "empty.duckdb").write_bytes(b"")
    content = bytearray(database(folder / "broken.duckdb").read_bytes())
    content[8192:24576] = b"\xff" * 16384
    (folder / "broken.duckdb").write_bytes(content)
    for name, words in [
        ("missing.duckdb", "no such database file"),
        ("junk.duckdb", "not a DuckDB database"),
        ("empty.duckdb", "not a DuckDB database"),
        ("broken.duckdb", "cannot be opened"),
        (".", "is a folder"),
    ]:
        with pytest.raises(DataError, match=words):
            Session.open(folder / name, read_only=True)


def test_a_file_that_another_process_holds(tmp_path: Path) -> None:
    path = database(tmp_path / "held.duckdb")
    program = (
        "import sys; from pathlib import Path; from dbdeid.engine.duckdb.session import Session\n"
        "Session.open(Path(sys.argv[1]), read_only=True)"
    )
    with duckdb.connect(str(path)):
        other = subprocess.run(
            [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False
        )
    assert "the database is locked" in other.stderr


@pytest.mark.parametrize("settings", [Settings(memory_limit="lots"), Settings(threads=-3)])
def test_settings_that_the_engine_refuses(settings: Settings) -> None:
    with pytest.raises(DataError, match="refused the settings"):
        Session.open(None, read_only=True, settings=settings)


@pytest.mark.parametrize(
    ("type_", "family"),
    [
        ("DECIMAL(18,3)", "decimal"),
        ("DECIMAL(18,3)[]", "other"),
        ("ENUM('a', 'b]')", "enum"),
        ("ENUM('a', 'b')[]", "other"),
        ("INTEGER[3]", "other"),
        ("TIMESTAMP WITH TIME ZONE", "timestamp"),
        ("UHUGEINT", "integer"),
        ("STRUCT(a INTEGER)", "other"),
    ],
)
def test_families_of_types(type_: str, family: str) -> None:
    assert Column("a", type_).family == family


def test_rows_that_an_interrupt_left_unread_do_not_bar_the_session() -> None:
    with Session.open(None, read_only=False) as session:
        session.execute("FROM range(1_000_000)")  # as if it had come before the rows were read
        session.settle()
        assert session.upload("numbers", {"a": range(2)}).columns


def test_filling_a_table_tells_its_rows_and_replaces_it(session) -> None:
    for rows in (3, 0):
        numbers = sqlglot.parse_one(f"SELECT range AS n FROM range({rows})", dialect="duckdb")
        assert session.fill(Step("filled", numbers)) == rows
        assert session.row("SELECT count(*) FROM filled") == (rows,)


SHADOWS = (
    "CREATE MACRO min(x) AS max(x)",
    'CREATE MACRO "=" (a, b) AS true',
    "CREATE MACRO SQRT(x) AS 1",
    "CREATE MACRO duckdb_functions() AS TABLE SELECT 1 AS a",
    "CREATE MACRO duckdb_databases() AS TABLE "
    "SELECT 'none' AS database_name, NULL AS path, false AS internal",
    "CREATE MACRO current_setting(x) AS ''",
)


def test_a_query_read_once_gives_what_there_is_at_each_call(session) -> None:
    """Rows, columns and a table of another make; PIVOT is several statements to the engine."""
    session.execute("CREATE TEMP TABLE t AS SELECT 1 AS a, 'x' AS b")
    for text in ("SELECT a, b FROM t ORDER BY ALL", "PIVOT t ON b USING sum(a)"):
        ask = session.repeated(text)
        assert ask() == ask() == session.result(text)
        session.execute("INSERT INTO t (a, b) VALUES (2, 'y')")
        assert ask() == session.result(text)
        session.execute("CREATE OR REPLACE TEMP TABLE t AS SELECT 'z' AS b, 3.5 AS a")
        assert ask() == session.result(text)
    failing = session.repeated("SELECT CAST(b AS INTEGER) FROM t")
    with pytest.raises(EngineError) as error:
        failing()
    assert "z" not in error.value.message


@pytest.mark.sampled(5)
@pytest.mark.parametrize("statement", SHADOWS)
@pytest.mark.parametrize("connected", [False, True])
def test_a_macro_for_a_built_in_is_refused(tmp_path: Path, statement: str, connected: bool) -> None:
    path = database(tmp_path / "owner.duckdb")
    with duckdb.connect(str(path)) as con:
        con.execute(statement)
        con.execute("CREATE MACRO mine(x) AS x")
        if connected:
            with pytest.raises(DataError, match="'owner' has macros that stand for functions"):
                Session.over(con, path, read_only=True)
    with duckdb.connect() as con:
        with pytest.raises(DataError, match="stand for functions of DuckDB"):
            Session.over(con, path, read_only=True)
        names = con.execute("SELECT database_name FROM duckdb_databases() WHERE NOT internal")
        assert names.fetchall() == [("memory",)]
    with pytest.raises(DataError, match="drop them") as refused:
        Session.open(path, read_only=True)
    assert "mine" not in str(refused.value)


@pytest.mark.full
def test_macros_of_other_names_or_places_are_no_matter(tmp_path: Path) -> None:
    path = database(tmp_path / "owner.duckdb")
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE MACRO twice(x) AS 2 * x")
        con.execute("CREATE SCHEMA other")
        con.execute("CREATE MACRO other.min(x) AS max(x)")
    with Session.open(path, read_only=True) as session:
        assert session.row("SELECT twice(min(a)) FROM t") == (2,)
