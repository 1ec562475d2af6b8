"""Sources that cannot be read: what is wrong is told, what to do, and no secret or cell."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from kept_patients import TABLE, copied, released, spec
from postgres_server import Server, programs, running

import dbdeid
from dbdeid.bind.any_table import opened
from dbdeid.commands.check import check
from dbdeid.commands.init import drafted
from dbdeid.data.location.address import Resolved, holds_secret
from dbdeid.errors import DbdeidError
from dbdeid.sources import postgres
from dbdeid.sources.rows import Rows

SECRET = "hu5h/h@sh"


def message(of: Callable[[], Any]) -> str:
    with pytest.raises(DbdeidError) as refused:
        of()
    told = str(refused.value)
    whole = f"{told}{refused.value.__context__!r}{refused.value.__cause__!r}"
    assert SECRET not in whole
    assert "hu5h" not in whole
    return told


def refused(source: Any, **keys: Any) -> str:
    told = {
        message(lambda: check(spec(source, **keys))),
        message(lambda: released(Path(), source, **keys)),
    }
    assert len(told) == 1
    return told.pop()


# -- files ---------------------------------------------------------------------------------------


def test_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "visits").mkdir()
    assert "visits is a folder that holds no file that is read" in refused(f"{tmp_path}/visits/")


def test_a_pattern_that_matches_nothing(tmp_path: Path) -> None:
    assert "*.parquet matches no file" in refused(f"{tmp_path}/*.parquet")


def test_a_folder_that_is_named_like_a_table(tmp_path: Path) -> None:
    (tmp_path / "visits").mkdir()
    assert "with a slash at its end" in refused(str(tmp_path / "visits"))


def test_files_of_several_formats(tmp_path: Path) -> None:
    copied(tmp_path / "a.parquet")
    copied(tmp_path / "b.csv")
    assert "files of several formats: .csv, .parquet" in refused(f"{tmp_path}/")


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".json"])
def test_files_with_other_columns(tmp_path: Path, ending: str) -> None:
    copied(tmp_path / f"a{ending}")
    copied(
        tmp_path / f"b{ending}", "(SELECT * EXCLUDE (age), 1 AS weight, 2 AS height FROM patients)"
    )
    told = refused(f"{tmp_path}/*{ending}")
    assert f"b{ending} does not have the columns of a{ending}: 1 missing, 2 added" in told
    assert "weight" not in told


def test_types_that_fit_all_files_are_taken(tmp_path: Path) -> None:
    copied(tmp_path / "a.parquet", "(FROM patients WHERE id < 910020)")
    copied(
        tmp_path / "b.parquet",
        "(SELECT * REPLACE (age + 0.5 AS age) FROM patients WHERE id > 910019)",
    )
    with opened(f"{tmp_path}/*.parquet", None) as found:
        total = found.session.row(f"SELECT sum(age) FROM ({found.opened.query.sql('duckdb')})")[0]
    assert float(total) == sum(TABLE["age"].to_pylist()) + 10  # no half is rounded away


def test_a_file_that_changes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = copied(tmp_path / "p.parquet")
    from dbdeid.methods.full_domain.full_domain import FullDomainMethod

    write = FullDomainMethod.write

    def changing(self: Any, *given: Any) -> Any:
        copied(path, "(FROM patients WHERE id > 910001)")
        return write(self, *given)

    monkeypatch.setattr(FullDomainMethod, "write", changing)
    told = message(lambda: released(tmp_path / "out", str(path)))
    assert told.startswith("p.parquet changed while the source was read")
    assert not (tmp_path / "out" / "out.parquet").exists()


@pytest.mark.full
def test_a_text_file_that_changes_was_read_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copied(tmp_path / "p.csv")
    whole = released(tmp_path / "whole", str(path))
    from dbdeid.methods.full_domain.full_domain import FullDomainMethod

    write = FullDomainMethod.write

    def changing(self: Any, *given: Any) -> Any:
        copied(path, "(FROM patients WHERE id > 910001)")
        return write(self, *given)

    monkeypatch.setattr(FullDomainMethod, "write", changing)
    assert released(tmp_path / "out", str(path)) == whole


def test_what_is_no_whole_file(tmp_path: Path) -> None:
    (tmp_path / "a.arrow").write_bytes(b"ARROW1\0\0" + SECRET.encode())
    assert "a.arrow is no whole file of Arrow" in refused(str(tmp_path / "a.arrow"))
    (tmp_path / "a.json").write_text('{"name": "' + SECRET, encoding="utf-8")
    assert "a.json cannot be read as records in JSON" in refused(str(tmp_path / "a.json"))
    (tmp_path / "a.csv.zst").write_bytes(SECRET.encode() * 9)
    assert "a.csv.zst" in refused(str(tmp_path / "a.csv.zst"))
    (tmp_path / "a.xlsx").write_bytes(b"PK\3\4" + SECRET.encode())
    assert "a.xlsx cannot be read as a spreadsheet" in refused(str(tmp_path / "a.xlsx"))


def test_a_guessed_encoding_is_told(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes("id,town\n1,Łódź\n2,Świętokrzyskie\n".encode("cp1250"))
    draft = drafted(str(path), None)
    assert draft.notes[0].startswith("p.csv is not UTF-8 text: it was read as cp1250")
    assert draft.notes[0] in draft.told(path)
    with opened(path, None) as found:
        rows = found.session.rows(found.opened.query)
    assert sorted(rows) == [(1, "Łódź"), (2, "Świętokrzyskie")]


def test_a_workbook_of_several_sheets(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for name in ("Sheet", "Other"):
        page = book.active if name == "Sheet" else book.create_sheet(name)
        page.append(["id", "age"])
        page.append([1, 2])
    book.save(tmp_path / "p.xlsx")
    assert "has 2 sheets with rows" in refused(str(tmp_path / "p.xlsx"))
    assert "no sheet 'Third'" in refused("b.Third", attach={"b": str(tmp_path / "p.xlsx")})


def test_a_name_is_told_as_it_is_asked_for(tmp_path: Path) -> None:
    """Names with points and quotes: what a hint lists can be given back."""
    import openpyxl

    file, book = tmp_path / "c.sqlite", tmp_path / "p.xlsx"
    with sqlite3.connect(file) as connection:
        connection.execute('CREATE TABLE "odd.na""me" (age INTEGER)')
        connection.execute('INSERT INTO "odd.na""me" VALUES (1)')
    connection.close()
    pages = openpyxl.Workbook()
    for title in ("visits.2025", "other"):
        page = pages.create_sheet(title)
        page.append(["age"])
        page.append([1])
    pages.save(book)
    for path, name in ((file, '"odd.na""me"'), (book, '"visits.2025"')):
        told = message(lambda path=path: drafted(str(path), "od"))  # type: ignore[misc]
        assert name in told.partition("Known: ")[2]
        for asked in (name, None) if path == file else (name,):
            assert name in drafted(str(path), asked).text
            with opened(str(path), asked) as found:
                assert found.session.rows(found.opened.query) == [(1,)]


def test_many_columns(tmp_path: Path) -> None:
    path = tmp_path / "wide.parquet"
    columns = ", ".join(f"{i} AS c{i}" for i in range(2_000))
    duckdb.sql(f"COPY (SELECT {columns}) TO '{path}'")
    assert "2000 columns of the source have no role" in refused(str(path))


# -- rows of Python and of a connection ------------------------------------------------------------


def test_columns_of_mixed_types() -> None:
    import pandas as pd

    frame = pd.DataFrame({"id": [1, SECRET]})
    assert "do not become an Arrow table" in message(lambda: dbdeid.run(spec(frame)))


def test_columns_without_a_name_of_their_own() -> None:
    import pandas as pd

    twice = pd.DataFrame([[1, 2]], columns=["id", "id"])
    for frame, told in (
        (twice, "the source has several columns 'id'"),
        (pd.DataFrame([[1, 2]], columns=["id", "ID"]), "the source has several columns 'ID'"),
        (pd.DataFrame(), "the source has no columns"),
    ):
        assert told in message(lambda frame=frame: dbdeid.run(spec(frame)))  # type: ignore[misc]


def test_a_view_is_not_made_of_what_is_read_once(tmp_path: Path) -> None:
    keys = {"database": str(tmp_path / "d.duckdb"), "output": {"as": "view"}}
    duckdb.connect(tmp_path / "d.duckdb").close()
    assert "a view reads its source each time" in message(lambda: dbdeid.run(spec(TABLE, **keys)))


def test_a_name_that_is_taken(tmp_path: Path) -> None:
    duckdb.connect(tmp_path / "other.duckdb").execute("CREATE TABLE t (a INT)").close()
    with duckdb.connect() as connection:
        connection.execute("ATTACH ':memory:' AS other")
        attach = {"other": str(tmp_path / "other.duckdb")}
        told = message(lambda: released(tmp_path, "other.t", connection, attach=attach))
    assert "the connection has a database 'other' already" in told


def test_no_rows_are_left_in_the_callers_connection(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE t (a INTEGER)")
    file.close()
    with duckdb.connect() as connection:
        message(lambda: released(tmp_path, "c.t", connection, attach={"c": str(path)}))
        found = connection.execute("SELECT database_name FROM duckdb_databases()").fetchall()
    assert ("c",) not in found


# -- SQLite ----------------------------------------------------------------------------------------


def test_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (id INTEGER, day DATE)")
        connection.execute("INSERT INTO t VALUES (1, '2020-01-01'), (?, '2020-01-02')", [SECRET])
    connection.close()
    attach = {"c": str(path)}
    assert "a value is not of the type" in refused("c.t", attach=attach)
    assert "c has no table or view 'u'" in refused("c.u", attach=attach)
    assert "is a database of SQLite" in refused(str(path))
    assert "c: no such file" in refused("c.t", attach={"c": f"{path}x"})
    path.write_bytes(path.read_bytes()[:20] + SECRET.encode() * 100)
    assert "c: c.sqlite cannot be read" in refused("c.t", attach=attach)


# -- servers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://reader:{SECRET.replace('@', '%40').replace('/', '%2F')}@db/clinic",
        "postgresql://reader@db/clinic?password=hu5h",
        "mysql:host=db passwd=hu5h",
        "md:clinic?motherduck_token=hu5h",
        "postgres:host=db password='hu5h'",
    ],
)
def test_no_password_stands_in_a_spec(address: str) -> None:
    assert holds_secret(address)
    told = message(lambda: check(spec("c.t", attach={"c": address})))
    assert "a password stands in the address" in told
    assert "a password stands in the address" in message(lambda: drafted(address, "t"))


def test_a_variable_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLINIC_PASSWORD", raising=False)
    attach = {"c": "postgresql://reader:${CLINIC_PASSWORD}@db/clinic"}
    assert "no variable CLINIC_PASSWORD" in refused("c.t", attach=attach)


@pytest.mark.parametrize("address", ["md:clinic", "ducklake:lake.db"])
def test_extensions_that_are_missing(address: str) -> None:
    told = refused("c.t", attach={"c": address})
    assert "needs DuckDB's extension" in told
    assert "https://extensions.duckdb.org/v" in told


def test_a_library_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "adbc_driver_postgresql.dbapi", None)
    told = refused("c.t", attach={"c": "postgresql://db/clinic"})
    assert "pip install 'dbdeid[sources]'" in told


needs_postgres = pytest.mark.skipif(programs() is None, reason="no PostgreSQL server is installed")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    found = programs()
    assert found is not None
    with running(found) as started:
        started.run("CREATE TABLE patients (id INT, age INT); CREATE ROLE poor LOGIN")
        started.run('CREATE SCHEMA "my.own"; CREATE TABLE "my.own"."odd ""one" AS SELECT 7 AS a')
        started.run("CREATE VIEW bad AS SELECT CAST(n AS INT) FROM (VALUES ('hu5h')) AS t (n)")
        started.run(f"CREATE ROLE reader LOGIN PASSWORD '{SECRET}'")
        hba = started.folder / "data" / "pg_hba.conf"
        hba.write_text("local all reader scram-sha-256\n" + hba.read_text())
        started.run("SELECT pg_reload_conf()")
        yield started


@needs_postgres
def test_postgresql(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def at(user: str, name: str = "postgres") -> dict[str, str]:
        return {"c": f"postgresql://{user}@/{name}?host={server.folder}"}

    assert 'role "nobody" does not exist' in refused("c.patients", attach=at("nobody"))
    assert 'database "none" does not exist' in refused("c.patients", attach=at("owner", "none"))
    assert "may not read this table" in refused("c.patients", attach=at("poor"))
    assert '"my.own"."odd ""one"' in refused("c.public.one", attach=at("owner"))
    with opened(at("owner")["c"], '"my.own"."odd ""one"') as found:
        assert found.session.rows(found.opened.query) == [(7,)]
    assert "did you mean 'public.patients'" in refused("c.public.patient", attach=at("owner"))
    assert "text withheld" in refused("c.bad", attach=at("owner"))
    monkeypatch.setenv("CLINIC_PASSWORD", SECRET + "x")
    wrong = refused("c.patients", attach=at("reader:${CLINIC_PASSWORD}"))
    assert "password authentication failed" in wrong
    monkeypatch.setenv("CLINIC_PASSWORD", SECRET)
    assert "may not read" in refused("c.patients", attach=at("reader:${CLINIC_PASSWORD}"))


def test_what_the_driver_asked_by_itself_is_not_told() -> None:
    driver = "IO: [libpq] Failed to execute query 'SELECT oid': FATAL:  terminating connection"
    assert postgres._said(driver) == "FATAL:  terminating connection"
    login = 'connection to server failed: FATAL:  role "nobody" does not exist'
    assert postgres._said(login) == 'FATAL:  role "nobody" does not exist'
    assert postgres._said("connection failed: no such host") == "no such host"


@needs_postgres
def test_a_server_that_goes_away_in_the_middle(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.run(
        "CREATE TABLE many AS SELECT i AS id, repeat('x', 999) AS note "
        "FROM generate_series(1, 19999) i"
    )
    read = postgres.postgres_rows

    def ending(address: Resolved, wanted: Any) -> Rows:
        rows = read(address, wanted)

        def batches() -> Iterator[Any]:
            yield next(rows.batches)
            server.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
            yield from rows.batches

        return Rows(rows.schema, batches(), rows.kinds, refused=rows.refused)

    monkeypatch.setattr(postgres, "postgres_rows", ending)
    attach = {"c": f"postgresql://owner@/postgres?host={server.folder}"}
    assert "not all rows could be read" in message(
        lambda: released(tmp_path, "c.many", attach=attach)
    )


@needs_postgres
def test_nothing_that_is_kept_or_shown_holds_the_password(
    tmp_path: Path,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    from kept_patients import statements

    kinds = {
        "id": "INT",
        "age": "INT",
        "born": "DATE",
        "dose": "REAL",
        "town": "TEXT",
        "diag": "TEXT",
    }
    server.run(
        "DROP TABLE IF EXISTS kept; "
        + statements("kept", kinds)
        + "; GRANT SELECT ON kept TO reader"
    )
    monkeypatch.setenv("CLINIC_PASSWORD", SECRET)
    attach = {"c": f"postgresql://reader:${{CLINIC_PASSWORD}}@/postgres?host={server.folder}"}
    caplog.set_level("DEBUG", "dbdeid")
    target = str(tmp_path / "out.duckdb")
    result = dbdeid.run(spec("c.kept", attach=attach, target=target))
    secrets = (SECRET.encode(), b"hu5h%2Fh%40sh")
    held = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    shown = f"{caplog.text}{result!r}{result.record!r}".encode()
    assert b"CLINIC_PASSWORD" in held  # the private book keeps the spec
    assert not any(secret in held + shown for secret in secrets)
    assert dbdeid.verify(spec("c.kept", attach=attach, target=target)).verified


def test_an_extension_that_a_query_needs_is_named(tmp_path: Path) -> None:
    query = {"sql": f"SELECT * FROM read_xlsx('{tmp_path}/x.xlsx')", "name": "visits"}
    told = refused(query)
    assert "DuckDB needs its extension 'excel' for this, which is not installed" in told
    assert "INSTALL '/path/to/excel.duckdb_extension'" in told


def test_a_database_of_sqlite_is_told_as_one(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
    connection.close()
    told = message(lambda: check(spec("t", database=str(path))))
    assert "a database of SQLite, not of DuckDB" in told
