"""A server as a client of PostgreSQL meets it."""

from __future__ import annotations

import json
import re
import shutil
import socket
import struct
import threading
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from clients import COLUMNS, PASSWORD, Connection, answering, connected
from specs import unmeasured

import dbdeid
from dbdeid.errors import DataError
from dbdeid.project.remembered import withdraw
from dbdeid.serve import server as serve_server
from dbdeid.serve.server import Server

QUESTIONS = (
    "SELECT COUNT(*) AS n FROM visits_public",
    "SELECT sex, COUNT(*) AS n, AVG(age) AS a FROM visits_public GROUP BY sex ORDER BY sex",
    "SELECT illness, SUM(cost) AS s FROM visits_public WHERE age < 45 GROUP BY illness "
    "ORDER BY illness",
    "SELECT date_trunc('month', admitted) AS m, COUNT(*) AS n FROM visits_public GROUP BY 1 "
    "ORDER BY 1",
    "SELECT MIN(seen) AS f, MAX(cost) AS h, BOOL_OR(smoker) AS s FROM visits_public",
    "SELECT cost, seen, smoker FROM visits_public ORDER BY seen LIMIT 5",
    "SELECT MEDIAN(age) AS m, STDDEV(cost) AS d FROM visits_public",
)


@pytest.fixture
def client(server: Server) -> Iterator[Connection]:
    with connected(server, PASSWORD) as connection:
        yield connection


def refusal(connection: Connection, text: str, values: Any = None) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(text, values)
    return caught.value


# -- answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("text", QUESTIONS)
def test_answers_are_those_of_an_open_release(
    server: Server, client: Connection, text: str, binary: bool
) -> None:
    (place, *_) = server.served.places.values()
    expected = place.release.query(text)
    found = client.cursor(binary=binary).execute(text)
    assert found.description is not None
    names = [column.name for column in found.description]
    assert sorted(names) == sorted(expected.columns)
    for row, right in zip(found.fetchall(), expected.rows, strict=True):
        for name, value in zip(names, row, strict=True):
            other = right[expected.columns.index(name)]
            assert value == (pytest.approx(other) if isinstance(other, float) else other)


def test_what_was_asked_for_stands_where_it_was_asked_for(client: Connection) -> None:
    text = "SELECT AVG(age) AS a, sex, COUNT(*) AS n FROM visits_public GROUP BY sex"
    found = client.execute(text).description or ()
    bounds = ["a_lower", "a_upper", "n_lower", "n_upper"]
    assert [column.name for column in found] == ["a", "sex", "n", *bounds]


def test_bounds_can_be_left_out(server: Server, client: Connection) -> None:
    text = "SELECT sex, AVG(age) AS a FROM visits_public GROUP BY sex ORDER BY sex"
    whole = client.execute(text).fetchall()
    client.execute("SET dbdeid.bounds = off")
    assert client.execute(text).fetchall() == [row[:2] for row in whole]
    client.execute("RESET ALL")
    assert client.execute(text).fetchall() == whole
    with connected(server, PASSWORD, options="-c dbdeid.bounds=off") as other:
        assert other.execute(text).fetchall() == [row[:2] for row in whole]
        other.execute("RESET dbdeid.bounds")
        assert len(other.execute(text).fetchall()[0]) == 2
    assert refusal(client, "SET dbdeid.bounds = maybe").sqlstate == "0A000"
    assert "dbdeid.bounds" in str(refusal(client, "SET dbdeid.bound = off"))


def test_a_name_like_that_of_a_bound_is_no_bound(client: Connection) -> None:
    client.execute("SET dbdeid.bounds = off")
    found = client.execute("SELECT COUNT(*) AS n, SUM(cost) AS n_lower FROM visits_public")
    assert [column.name for column in found.description or ()] == ["n", "n_lower"]


@pytest.mark.parametrize(
    "name",
    ["visits_public", "public.visits_public", "releases.public.visits_public", '"visits_public"'],
)
def test_a_release_may_be_called_with_its_schema(client: Connection, name: str) -> None:
    (row,) = client.execute(f"SELECT COUNT(*) AS n FROM {name} WHERE {name}.age < 900").fetchall()
    assert row[0] > 0


def test_what_a_reader_should_know_is_a_notice(client: Connection) -> None:
    heard: list[str | None] = []
    client.add_notice_handler(lambda told: heard.append(told.message_primary))
    client.execute("SELECT COUNT(*) FROM visits_public")
    assert any("bounds cover the released records only" in (told or "") for told in heard)


def test_the_day_of_the_question_is_told(client: Connection) -> None:
    heard: list[str | None] = []
    client.add_notice_handler(lambda told: heard.append(told.message_primary))
    text = "SELECT COUNT(*) AS n FROM visits_public WHERE admitted {} CURRENT_DATE AND seen < now()"
    assert client.execute(text.format("<")).fetchone() == (112, 112, 112)
    assert client.execute(text.format(">")).fetchone() == (0, 0, 0)
    assert any("asked at DATE '20" in (told or "") for told in heard)


def test_the_day_is_told_without_a_table(client: Connection) -> None:
    (today,) = client.execute("SELECT current_date").fetchone() or ()
    assert abs(today - date.today()) <= timedelta(days=1)
    both = client.execute("SELECT current_date, version()")
    assert [column.name for column in both.description or ()] == ["current_date", "version"]
    assert (both.fetchone() or ())[0] in (today, today + timedelta(days=1))
    assert client.execute("SELECT current_date - 1 < current_date").fetchone() == (True,)


def test_a_count_without_a_name_is_sorted_by(client: Connection) -> None:
    text = "SELECT illness, COUNT(*) FROM visits_public GROUP BY illness ORDER BY count DESC"
    found = client.execute(text)
    assert [column.name for column in found.description or ()][:2] == ["illness", "count"]
    counts = [row[1] for row in found.fetchall()]
    assert counts == sorted(counts, reverse=True)
    assert len(counts) == 3


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("age = 'old'", "'old' is no BIGINT"),
        ("cost IN ('1', 'much')", "'much' is no DECIMAL(8, 2)"),
        ("admitted > '2020-13-01'", "'2020-13-01' is no DATE"),
        ("seen < TIMESTAMP 'soon'", "'soon' is no TIMESTAMP"),
        ("smoker = 'sometimes'", "'sometimes' is no BOOLEAN"),
        ("age LIKE '3%'", "age is a number, no text\nHINT:  write CAST(age AS VARCHAR)"),
        ("left(age, 1) = '3'", "age is a number, no text"),
        ("cost LIKE '3%' AND age > 3", "cost is a number, no text"),
        ("sex = 1", "sex is text, which is compared with a number"),
        ("illness IN (1, 2)", "single quotes: '1'"),
    ],
)
def test_a_constant_that_cannot_be_read_is_named(
    client: Connection, condition: str, told: str
) -> None:
    error = refusal(client, f"SELECT COUNT(*) FROM visits_public WHERE {condition}")
    assert told in str(error)


def test_a_cell_that_cannot_be_read_is_not_told(client: Connection) -> None:
    text = (
        "SELECT COUNT(*) FROM visits_public WHERE illness <> 'flu' AND CAST(illness AS INTEGER) = 1"
    )
    error = str(refusal(client, text))
    assert "withheld" in error
    assert not any(word in error for word in ("flu", "asthma", "none'"))


def test_a_count_of_nothing_is_of_the_records_released(client: Connection) -> None:
    heard: list[str | None] = []
    client.add_notice_handler(lambda told: heard.append(told.message_primary))
    text = "SELECT SUM(cost) AS c, COUNT(*) AS n FROM visits_public WHERE illness = '{}'"
    client.execute(text.format("flu"))
    assert not any("suppressed records may" in (told or "") for told in heard)
    client.execute(text.format("plague"))
    assert any("suppressed records may" in (told or "") for told in heard)


def test_explain_shows_what_is_run(client: Connection) -> None:
    rows = client.execute("EXPLAIN SELECT COUNT(*) FROM visits_public WHERE age < 30").fetchall()
    assert "visits_public_dictionary" in "\n".join(row[0] for row in rows)


def test_all_columns_are_those_that_are_told_of(client: Connection) -> None:
    assert "age" in str(refusal(client, "SELECT * FROM visits_public"))
    found = client.execute("SELECT * FROM (SELECT smoker, cost FROM visits_public) t LIMIT 1")
    assert [column.name for column in found.description or ()] == ["smoker", "cost"]


# -- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize("cursor", [{}, {"binary": True}])
def test_values_are_given_apart(client: Connection, cursor: dict[str, bool]) -> None:
    def count(condition: str, *values: Any) -> list[tuple[Any, ...]]:
        text = f"SELECT COUNT(*) AS n FROM visits_public WHERE {condition}"
        return client.cursor(**cursor).execute(text, values).fetchall()

    written = client.execute("SELECT COUNT(*) AS n FROM visits_public WHERE smoker AND age < 45")
    assert count("smoker = %s AND age < %s", True, 45) == written.fetchall()
    assert count("illness = %s", "flu")[0][0] > 0
    assert count("illness = %s", "flu' OR TRUE --")[0][0] == 0
    assert count("illness = ANY(%s)", ["flu", "none"]) == count("illness IN ('flu', 'none')")
    assert count("illness = ANY(%s)", [])[0][0] == 0
    assert count("cost > %s", None)[0][0] == 0
    assert "has no value" in str(refusal(client, "SELECT COUNT(*) FROM visits_public LIMIT $1"))


def test_a_statement_may_be_prepared(client: Connection) -> None:
    text = "SELECT COUNT(*) AS n FROM visits_public WHERE age < %s AND admitted >= %s::date"
    found = [client.execute(text, (age, "2020-03-01"), prepare=True).fetchall() for age in (30, 60)]
    assert found[0][0][0] < found[1][0][0]
    many = "SELECT cost FROM visits_public ORDER BY seen LIMIT %s OFFSET %s"
    assert len(client.execute(many, (7, 2), prepare=True).fetchall()) == 7


# -- transactions, settings and cursors ----------------------------------------------------------


def test_after_an_error_the_next_question_is_answered(client: Connection) -> None:
    assert refusal(client, "SELECT COUNT(*) FROM visits_public WHERE x < %s", (3,))
    assert client.execute("SELECT 1").fetchall() == [(1,)]
    client.execute("BEGIN")
    assert refusal(client, "SELEC").sqlstate == "42601"
    assert refusal(client, "SELECT 1").sqlstate == "25P02"
    assert client.execute("COMMIT").statusmessage == "ROLLBACK"
    assert client.execute("SELECT 1").fetchall() == [(1,)]


def test_several_statements_are_carried_out_up_to_the_first_that_fails(client: Connection) -> None:
    found = client.execute("SELECT 1 AS a; SET application_name = 'x'; SELECT 2 AS a")
    assert found.fetchall() == [(1,)]
    assert "x" in client.execute("SHOW application_name").fetchone()  # type: ignore[operator]
    assert refusal(client, "SET application_name = 'y'; SELEC; SET application_name = 'z'")
    assert client.execute("SHOW application_name").fetchall() == [("y",)]
    assert client.execute("").description is None


def test_settings_that_a_release_cannot_have(client: Connection) -> None:
    assert "UTF8" in str(refusal(client, "SET client_encoding TO 'LATIN1'"))
    assert "only read" in str(refusal(client, "SET transaction_read_only = off"))
    assert refusal(client, "SHOW nothing").sqlstate == "42704"
    assert client.execute("SELECT current_setting('server_encoding')").fetchall() == [("UTF8",)]


def test_rows_may_be_fetched_in_parts(client: Connection) -> None:
    text = "SELECT cost FROM visits_public ORDER BY seen"
    whole = client.execute(text).fetchall()
    with client.transaction(), client.cursor("parts") as cursor:
        cursor.execute(text)
        assert cursor.fetchmany(5) + cursor.fetchall() == whole
    assert list(client.cursor().stream(text)) == whole
    assert refusal(client, "FETCH 1 FROM parts").sqlstate == "34000"


def test_a_question_can_be_cancelled(client: Connection) -> None:
    wide = ", ".join(f"range(1, 3000) AS t{i}(x{i})" for i in range(4))
    threading.Timer(0.3, client.cancel_safe).start()
    error = refusal(client, f"SELECT SUM(x0 * x1 + x2) FROM {wide}")
    assert error.sqlstate == "57014"
    client.execute("SET statement_timeout = '200ms'")
    assert "timeout" in str(refusal(client, f"SELECT SUM(x0 * x1 + x2) FROM {wide}"))
    client.execute("RESET statement_timeout")
    assert client.execute("SELECT 1").fetchall() == [(1,)]


COPIES = {
    "TO STDOUT": "1\tx\\ty\t\\N\t\n",
    "TO STDOUT WITH (FORMAT csv, HEADER)": 'a,b,c,d\n1,x\ty,,""\n',
    "TO STDOUT CSV HEADER": 'a,b,c,d\n1,x\ty,,""\n',
    "TO STDOUT WITH (FORMAT csv, DELIMITER ';', NULL 'none')": '1;x\ty;none;""\n',
    "TO STDOUT (FORMAT csv, HEADER false, DELIMITER 'x')": '1x"x\ty"xx""\n',
}


@pytest.mark.parametrize("form", COPIES)
def test_an_answer_is_copied_as_text(client: Connection, form: str) -> None:
    text = f"COPY (SELECT 1 AS a, e'x\\ty' AS b, NULL AS c, '' AS d) {form}"
    with client.cursor() as cursor, cursor.copy(text.encode()) as copy:
        assert b"".join(bytes(part) for part in copy).decode() == COPIES[form]


def test_only_what_can_be_asked_is_copied(client: Connection) -> None:
    with client.cursor() as cursor, cursor.copy("COPY visits_public (cost) TO STDOUT") as copy:
        rows = b"".join(bytes(part) for part in copy).decode().splitlines()
    whole = client.execute("SELECT cost FROM visits_public").fetchall()
    assert rows == [f"{cost:.2f}" for (cost,) in whole]
    for text in (
        "COPY visits_public TO STDOUT",
        "COPY visits_public TO '/tmp/x'",
        "COPY visits_public FROM STDIN",
        "COPY (SELECT 1) TO STDOUT (FORMAT binary)",
        "COPY (SELECT 1) TO STDOUT (DELIMITER 'ab')",
        "COPY (SELECT * FROM read_text('/etc/hosts')) TO STDOUT",
        "COPY (DELETE FROM pg_class RETURNING 1) TO STDOUT",
    ):
        refusal(client, text)
    assert client.execute("SELECT 1").fetchall() == [(1,)]


# -- who may ask, and what -----------------------------------------------------------------------


def test_only_who_knows_the_password_is_answered(server: Server) -> None:
    for password in ("", "wrong", PASSWORD.upper()):
        with pytest.raises(psycopg.OperationalError, match="password"):
            connected(server, password)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        connected(server, PASSWORD, dbname="owner")


def test_only_this_machine_is_listened_to(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_csv('/etc/hosts')",
        "SELECT * FROM read_text('/etc/hosts')",
        "SELECT * FROM '/etc/hosts'",
        "SELECT * FROM glob('*')",
        "SELECT count(*) FROM visits_public, read_text('/etc/hosts')",
        "SELECT getenv('PATH')",
        "SELECT * FROM visits_public_dictionary",
        "SELECT count(*) FROM pg_class JOIN visits_public ON TRUE",
        "SELECT count(*) FROM visits_public WHERE EXISTS (SELECT * FROM secrets)",
        "SELECT * FROM secrets",
        "SELECT name FROM visits_public",
        "COPY visits_public TO '/tmp/x'",
        "COPY (SELECT 1) TO PROGRAM 'id'",
        "ATTACH 'owner.duckdb'",
        "INSTALL httpfs",
        "PRAGMA database_list",
        "CREATE TABLE t AS SELECT 1",
        "DROP TABLE pg_class",
        "INSERT INTO pg_class SELECT * FROM pg_class",
        "WITH x AS (DELETE FROM pg_class RETURNING 1) SELECT * FROM x",
        "SELECT 1 INTO t",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM query('SELECT 1')",
        "SELECT * FROM pg_class FOR UPDATE",
        "SET enable_external_access = on; SELECT * FROM read_text('/etc/hosts')",
    ],
)
def test_nothing_but_releases_can_be_read(client: Connection, text: str) -> None:
    error = refusal(client, text)
    assert "never" not in str(error)
    assert "person" not in str(error)


def test_tables_beside_a_release_are_not_served(hospital: Path, tmp_path: Path) -> None:
    shutil.copy(hospital / "owner.duckdb", tmp_path)
    spec = tmp_path / "inside.yml"
    told = unmeasured("visits", columns=COLUMNS, database="owner.duckdb", release="inside")
    spec.write_text(json.dumps(told))
    dbdeid.run(spec)
    with answering(spec) as server, connected(server, PASSWORD) as client:
        assert client.execute("SELECT COUNT(*) AS n FROM visits").fetchone()
        for text in (
            "SELECT COUNT(*) FROM inside JOIN secrets ON told = illness",
            "SELECT COUNT(*) FROM inside WHERE illness IN (SELECT told FROM secrets)",
            "SELECT COUNT(*) FROM inside WHERE EXISTS (SELECT 1 FROM owner.main.secrets)",
            "SELECT told FROM secrets",
        ):
            assert "never" not in str(refusal(client, text))
    with (
        pytest.raises(DataError, match="more than a published"),
        answering(tmp_path / "owner.duckdb"),
    ):
        pass
    withdraw("inside", "a mistake", spec)
    with pytest.raises(DataError, match="withdrawn"), answering(spec):
        pass
    dbdeid.run(spec, trial=True)
    with pytest.raises(DataError), answering(spec):
        pass


def test_a_folder_of_releases(hospital: Path, tmp_path: Path) -> None:
    for name in ("visits_public.duckdb", "visits_public.private.duckdb"):
        if (hospital / name).exists():
            (tmp_path / name).write_bytes((hospital / name).read_bytes())
    with answering(tmp_path) as server, connected(server, PASSWORD) as client:
        assert client.execute("SELECT COUNT(*) FROM visits_public").fetchone()
    with pytest.raises(DataError, match="called visits_public"), answering(tmp_path, tmp_path):
        pass
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no"), answering(tmp_path / "empty"):
        pass


def test_what_is_no_release_in_a_folder_is_left_out(hospital: Path, tmp_path: Path) -> None:
    shutil.copy(hospital / "visits_public.duckdb", tmp_path)
    shutil.copy(hospital / "owner.duckdb", tmp_path)
    (tmp_path / "torn.db").write_text("no database")
    with answering(tmp_path) as server, connected(server, PASSWORD) as client:
        assert client.execute("SELECT COUNT(*) FROM visits_public").fetchone()
        assert [table.name for table in server.served.tables] == ["visits_public"]
        whys = {path.name: why for path, why in server.served.skipped.items()}
        assert set(whys) == {"owner.duckdb", "torn.db"}
        assert "no release" in whys["owner.duckdb"] or "more than" in whys["owner.duckdb"]
    (tmp_path / "visits_public.duckdb").unlink()
    with pytest.raises(DataError, match="no release that can be served"), answering(tmp_path):
        pass


def test_a_file_alone_is_asked_by_any_name_as_with_query(
    hospital: Path, server: Server, client: Connection
) -> None:
    path, notices = hospital / "visits_public.duckdb", list[str]()
    client.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    text = "SELECT sex, COUNT(*) AS n FROM {} GROUP BY sex ORDER BY sex"
    there = dbdeid.query(path, text.format("encounters"))
    for name in ("encounters", "public.Encounters", "releases.public.encounters"):
        found = client.execute(text.format(name)).fetchall()
        assert [row[:2] for row in found] == [row[:2] for row in there.rows]
    assert any(n.startswith("encounters is read as the source") for n in notices)
    assert set(there.notes) <= {*notices}
    for name in ("other.encounters", "pg_encounters"):
        assert refusal(client, text.format(name)).sqlstate == "42P01"
    both = "SELECT COUNT(*) FROM encounters JOIN stays ON encounters.age = stays.age"
    assert "does not tell which" in str(refusal(client, both))


def test_a_port_that_is_taken(server: Server, hospital: Path) -> None:
    export = hospital / "visits_public.duckdb"
    with (
        pytest.raises(DataError, match="port"),
        serve_server.serving([export], port=server.port, password="x"),
    ):
        pass


# -- those who do not keep to the protocol -------------------------------------------------------


def said(server: Server, *parts: bytes) -> bytes:
    """All that a server answers to bytes that no client would send."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        for part in parts:
            connection.sendall(part)
        connection.shutdown(socket.SHUT_WR)
        told = b""
        while more := connection.recv(65536):
            told += more
        return told


@pytest.mark.parametrize(
    "parts",
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",),
        (struct.pack("!ii", 8, 12345),),
        (struct.pack("!ii", 2**31 - 1, 196608),),
        (struct.pack("!ii", 9, 196608), b"\0", b"Q\0\0\0\x0bSELECT 1\0"),
        (struct.pack("!ii", 9, 196608), b"\0", b"p\0\0\0\x08abcd"),
        (b"\0\0",),
        (),
    ],
)
def test_others_learn_nothing_and_disturb_nobody(server: Server, parts: tuple[bytes, ...]) -> None:
    told = said(server, *parts)
    assert not re.search(rb"visits|SELECT 1|AuthenticationOk", told)
    with connected(server, PASSWORD) as client:
        assert client.execute("SELECT 1").fetchall() == [(1,)]


def test_no_more_clients_than_can_be_served(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve_server, "MOST_CLIENTS", 1)
    with connected(server, PASSWORD), pytest.raises(psycopg.OperationalError, match="too many"):
        connected(server, PASSWORD)


def test_who_cancels_stops_nobody_else(server: Server, client: Connection) -> None:
    text = "SELECT COUNT(*) AS n FROM visits_public"
    (place, *_) = server.served.places.values()
    answers: list[Any] = []

    def ask(connection: Connection) -> None:
        try:
            answers.append(connection.execute(text).fetchall())
        except psycopg.Error as error:
            answers.append(error.sqlstate)

    with connected(server, PASSWORD) as waiting, place.turn:
        thread = threading.Thread(target=ask, args=(waiting,))
        thread.start()
        time.sleep(0.2)
        waiting.cancel_safe()
        time.sleep(0.2)
        assert answers == []
        interrupted = place.release.query(text)
        assert interrupted.rows
    thread.join(30)
    assert answers == ["57014"]
    assert client.execute(text).fetchall()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT name FROM LATERAL duckdb_settings() t",
        "SELECT * FROM LATERAL query('SELECT 1') t",
        "SELECT system.main.current_setting('temp_directory')",
        "SELECT ('temp_directory').current_setting()",
        "SELECT (WITH sqlite_master AS (SELECT 1) SELECT 1 FROM sqlite_master) FROM sqlite_master",
        "SELECT " + " OR ".join(["1=1"] * 1000),
        "SELECT 1" + "::int" * 1000,
        "SELECT (SELECT)",
        "SELECT illness FROM visits_public WHERE illness SIMILAR TO '%fl%'",
        r"SELECT illness FROM visits_public WHERE illness LIKE 'f\lu'",
        "SELECT illness::varchar(2) AS i FROM visits_public",
        "SELECT illness FROM visits_public ORDER BY illness FETCH FIRST 1 ROW WITH TIES",
        "SELECT to_char(seen, 'Month') AS m, COUNT(*) FROM visits_public GROUP BY 1",
    ],
)
def test_what_would_be_read_otherwise_is_refused(client: Connection, text: str) -> None:
    refusal(client, text)
    assert client.execute("SELECT 1").fetchall() == [(1,)]


def test_what_postgresql_means(client: Connection) -> None:
    def count(condition: str, *values: Any) -> float:
        text = f"SELECT COUNT(*) AS n FROM visits_public WHERE {condition}"
        return float(client.execute(text.encode(), values).fetchall()[0][0])

    zoned, plain = "2021-05-01 20:00:00+02", "2021-05-01 20:00:00"
    assert count("seen > %s", zoned) == count(f"seen > TIMESTAMP '{plain}'")
    assert count("illness IN (%s,%s)", "flu", "none") == count("illness IN ('flu', 'none')")
    assert count("illness <> 'a$1,$2'") == count("TRUE")
    kept = client.execute(rb"SELECT 'a$1,$2', e'\'$1,', $$b$1,$$, $x$c$1,$x$ -- $1,$2").fetchall()
    assert kept == [("a$1,$2", "'$1,", "b$1,", "c$1,")]
    assert count("age / 10 = 2") == count("age BETWEEN 20 AND 29")
    for text in ("FETCH PRIOR FROM k", "FETCH BACKWARD 1 FROM k"):
        client.execute("DECLARE k CURSOR WITH HOLD FOR SELECT cost FROM visits_public")
        assert refusal(client, text).sqlstate == "55000"


def test_connections_of_others_leave_room(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve_server, "PATIENCE", 0.5)
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(5)]
    try:
        for one in silent:
            one.settimeout(20)
            assert one.recv(1) == b""
        with connected(server, PASSWORD) as client:
            assert client.execute("SELECT 1").fetchall() == [(1,)]
    finally:
        for one in silent:
            one.close()
