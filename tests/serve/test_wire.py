"""What clients of PostgreSQL notice of a server: places of mistakes, settings, lists of tables."""

from __future__ import annotations

import gc
import io
import json
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from clients import COLUMNS, PASSWORD, Connection, answering, connected
from psycopg import pq
from specs import small

import dbdeid
from dbdeid.serve import conversation
from dbdeid.serve.conversation import Conversation
from dbdeid.serve.server import Server


@pytest.fixture
def client(server: Server) -> Iterator[Connection]:
    with connected(server, PASSWORD) as connection:
        yield connection


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT COUNT(*) frm visits_public", "visits_public"),
        ("SELECT 1;  SELECT COUNT(*)\n frm visits_public", "visits_public"),
    ],
)
def test_a_syntax_error_has_its_place(client: Connection, text: str, place: str) -> None:
    with pytest.raises(psycopg.errors.SyntaxError) as refused:
        client.execute(text)
    assert refused.value.diag.statement_position == str(text.index(place) + 1)
    assert f"column {len(text.split(place)[0].splitlines()[-1]) + 1})" in str(refused.value) or (
        ";" in text
    )


def test_a_setting_of_a_transaction_ends_with_it(client: Connection) -> None:
    def setting() -> Any:
        return (client.execute("SHOW dbdeid.bounds").fetchone() or [None])[0]

    for end in ("COMMIT", "ROLLBACK"):
        client.execute("BEGIN")
        client.execute("SET LOCAL dbdeid.bounds = off")
        assert setting() == "off"
        client.execute(end)
        assert setting() == "on"
    client.execute("SET LOCAL dbdeid.bounds = off")
    assert setting() == "on"
    client.execute("BEGIN; SET LOCAL dbdeid.bounds = off; SET dbdeid.bounds = off; COMMIT")
    assert setting() == "off"


@pytest.mark.parametrize("value", ["'abc'", "'5 parsecs'", "-1"])
def test_a_time_that_is_none_does_not_become_no_limit(client: Connection, value: str) -> None:
    client.execute("SET statement_timeout = '1.5 min'")
    with pytest.raises(psycopg.Error, match="statement_timeout is no time"):
        client.execute(f"SET statement_timeout = {value}".encode())
    assert client.execute("SHOW statement_timeout").fetchone() == ("1.5 min",)
    client.execute("SET statement_timeout TO DEFAULT")


def told(raw: Any) -> Any:
    """What a server in this process tells: a call that waits would keep it from answering."""
    found = None
    raw.flush()
    for _turn in range(600):
        raw.consume_input()
        while not raw.is_busy():
            result = raw.get_result()
            if result is None:
                return found
            found = result
        time.sleep(0.02)
    raise AssertionError("no answer")


def test_a_statement_whose_columns_have_changed_is_refused(client: Connection) -> None:
    raw = client.pgconn
    raw.send_prepare(b"asked", b"SELECT COUNT(*) AS n FROM visits_public")
    assert told(raw).status == pq.ExecStatus.COMMAND_OK
    raw.send_describe_prepared(b"asked")
    assert told(raw).nfields == 3
    raw.send_query_prepared(b"asked", [])
    assert told(raw).status == pq.ExecStatus.TUPLES_OK
    client.execute("SET dbdeid.bounds = off")
    raw.send_query_prepared(b"asked", [])
    found = told(raw)
    assert found.status == pq.ExecStatus.FATAL_ERROR
    assert b"cached plan must not change result type" in found.error_message
    client.execute("RESET dbdeid.bounds")
    raw.send_query_prepared(b"asked", [])
    assert told(raw).nfields == 3


def test_a_client_cannot_have_the_server_hold_more_and_more(
    client: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.execute("BEGIN")
    many = "; ".join(f"DECLARE c{number} CURSOR FOR SELECT 1" for number in range(101))
    with pytest.raises(psycopg.Error, match="too many cursors"):
        client.execute(many.encode())
    client.execute("ROLLBACK")
    monkeypatch.setattr(conversation, "_LARGEST_HELD", 90)
    raw = client.pgconn
    raw.send_prepare(b"one", b"SELECT 'a text of some letters'")
    assert told(raw).status == pq.ExecStatus.COMMAND_OK
    raw.send_prepare(b"two", b"SELECT 'a text of some more letters, too many for both'")
    assert b"too many statements" in told(raw).error_message
    client.execute("DEALLOCATE ALL")
    raw.send_prepare(b"two", b"SELECT 'a text of some more letters, too many for both'")
    assert told(raw).status == pq.ExecStatus.COMMAND_OK


def test_what_a_client_had_is_let_go_when_it_leaves() -> None:
    """At once: until its memory is looked for, others may have taken as much."""
    gc.disable()
    try:
        talk = Conversation(SimpleNamespace(status="I"), io.BytesIO(b"X\0\0\0\4"), io.BytesIO())  # type: ignore[arg-type]
        left = weakref.ref(talk)
        talk.run()
        del talk
        assert left() is None
    finally:
        gc.enable()


def test_a_question_whose_client_hangs_up_is_stopped(
    server: Server, client: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place, *_) = server.served.places.values()
    stopped: list[float] = []
    asked: list[float] = []
    interrupt = place.release.interrupt

    def slow(text: str, **_: Any) -> None:
        asked.append(time.monotonic())
        for _turn in range(100):
            if stopped:
                raise KeyboardInterrupt
            time.sleep(0.05)

    def note() -> None:
        stopped.append(time.monotonic())
        interrupt()

    monkeypatch.setattr(place.release, "query", slow)
    monkeypatch.setattr(place.release, "interrupt", note)
    client.pgconn.send_query(b"SELECT COUNT(*) AS n FROM visits_public WHERE age < 23")
    client.pgconn.flush()
    for _turn in range(100):
        if asked:
            break
        time.sleep(0.02)
    client.pgconn.finish()
    for _turn in range(80):
        if stopped:
            break
        time.sleep(0.05)
    assert stopped


def test_a_question_ends_when_it_has_had_its_time(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others wait for their turn meanwhile. What is asked of tables has a time of its own."""
    (place, *_) = server.served.places.values()
    stopped = threading.Event()

    def slow(text: str, **_: Any) -> None:
        assert stopped.wait(20)
        raise KeyboardInterrupt

    monkeypatch.setattr(server, "patience", 0.2)
    with connected(server, PASSWORD) as client, monkeypatch.context() as patch:
        patch.setattr(place.release, "query", slow)
        patch.setattr(place.release, "interrupt", stopped.set)
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            client.execute("SELECT COUNT(*) AS n FROM visits_public WHERE age < 23")
        patch.undo()
        monkeypatch.setattr(server, "patience", 0)
        assert client.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(
    ("call", "same"),
    [
        ("substring(illness, -1, 4)", "substring(illness, 1, 2)"),
        ("substring(illness from 0 for 3)", "substring(illness, 1, 2)"),
        ("substr(illness, -2)", "illness"),
        ("substring(illness, -3, 2)", "''"),
    ],
)
def test_letters_before_the_first_are_none(client: Connection, call: str, same: str) -> None:
    text = "SELECT COUNT(*) AS n FROM visits_public WHERE {} = {}"
    assert client.execute(text.format(call, same)).fetchone() == (112, 112, 112)


def test_a_quantile_within_group(client: Connection) -> None:
    text = "SELECT {} AS m FROM visits_public WHERE age < 60"
    within = "percentile_cont(0.5) WITHIN GROUP (ORDER BY cost)"
    found = client.execute(text.format(within)).fetchone()
    assert found == client.execute(text.format("median(cost)")).fetchone()
    assert found is not None
    assert found[0] > 0
    assert client.execute(
        "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY age) FROM visits_public"
    )


@pytest.mark.full
def test_a_specification_is_listed_with_what_is_refused(hospital: Path, tmp_path: Path) -> None:
    spec = tmp_path / "listed.yml"
    given = small(
        source="visits",
        columns=COLUMNS,
        release="visits_listed",
        database=str(hospital / "owner.duckdb"),
        target=str(tmp_path / "listed.duckdb"),
        privacy=[{"model": "k_anonymity", "k": 100}],
        evaluate={"metrics": []},
    )
    spec.write_text(json.dumps(given))
    dbdeid.run(spec)
    with answering(spec) as server, connected(server, PASSWORD) as client:
        names = client.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' "
            "ORDER BY table_name"
        )
        assert [row[0] for row in names.fetchall()] == ["visits", "visits_listed"]
        one, two = (
            client.execute(f"SELECT COUNT(*) AS n FROM {name} WHERE cost < 30").fetchone()
            for name in ("visits", "visits_listed")
        )
        assert one == two
        found = client.execute(
            "SELECT a.attname, col_description(a.attrelid, a.attnum) FROM pg_attribute a "
            "JOIN pg_class c ON c.oid = a.attrelid WHERE c.relname = 'visits' AND a.attnum > 0"
        )
        comments = dict(found.fetchall())
        assert "`domain`" in comments["sex"]
        assert comments["cost"] is None
        with pytest.raises(psycopg.Error) as refused:
            client.execute("SELECT sex, COUNT(*) FROM visits GROUP BY sex")
        assert "`domain:`" in str(refused.value.diag.message_hint)
