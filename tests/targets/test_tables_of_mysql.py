"""A release in a table of MySQL or MariaDB: what is there, who reads it, what a failure leaves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from lakes import spec
from mariadb_server import Maria
from served import Server
from typer.testing import CliRunner

import dbdeid
from dbdeid.cli.app import app
from dbdeid.commands.verify_evaluate_export import export_release
from dbdeid.errors import DbdeidError
from dbdeid.publish import elsewhere
from dbdeid.targets import mysql
from dbdeid.targets.mysql import MysqlTarget

SECRET = "hu5h/h@sh"
OWN = {"visits", "visits_dictionary"}
ROWS = "SELECT * FROM visits"
CALL = "dbdeid.targets.mysql:MysqlTarget._asked"


@pytest.fixture(scope="module")
def users(maria: Maria) -> Maria:
    """The server, with users who may do this and that."""
    maria.run(
        "CREATE USER poor, reader",
        "GRANT SELECT, INSERT, CREATE, DROP ON town.* TO poor",
        f"CREATE USER locked IDENTIFIED BY '{SECRET}'",
        "GRANT SELECT, INSERT, CREATE, ALTER, DROP ON town.* TO locked",
        "CREATE DATABASE `odd ``%s one`",
    )
    return maria


@pytest.fixture
def town(users: Maria) -> Iterator[Maria]:
    """The server with nothing in it, before and after."""
    assert users.tables() == set()
    yield users
    users.run("SET foreign_key_checks = 0")
    kinds = users.run("SHOW FULL TABLES")
    for name, kind in kinds:
        what = {"VIEW": "VIEW", "SEQUENCE": "SEQUENCE"}.get(kind, "TABLE")
        users.run("SET foreign_key_checks = 0", f"DROP {what} `{name}`")


def given(server: Maria, *exports: str, user: str = "root", **more: Any) -> Any:
    return spec(*exports, attach={"hall": server.address(user)}, **more)


def refused(run: Callable[[], Any]) -> str:
    with pytest.raises(DbdeidError) as error:
        run()
    told = str(error.value)
    whole = f"{told}{error.value.__context__!r}{error.value.__cause__!r}"
    assert SECRET not in whole
    assert "hu5h" not in whole
    return told


def own() -> list[tuple[Any, ...]]:
    """The release in the database of its owner."""
    with duckdb.connect("owner.duckdb", read_only=True) as connection:
        return connection.execute(
            "SELECT * REPLACE (ill::INT AS ill) FROM visits_public"
        ).fetchall()


def test_its_rows_are_those_that_were_verified_in_their_order(place: Path, town: Maria) -> None:
    wanted = given(town, "hall.visits")
    dbdeid.run(wanted)
    assert town.run(ROWS) == own()
    assert town.tables() == OWN
    assert [row[1] for row in town.run("DESCRIBE visits")] == [
        *("longtext", "longtext", "decimal(4,1)", "tinyint(1)", "date"),
    ]
    found = dbdeid.verify(wanted)
    assert found.verified
    assert {"content (hall.visits)", "order (hall.visits)"} <= {c.check for c in found.hygiene}

    # another run replaces it; what reads it and who may read it stay
    town.run(
        "CREATE VIEW seen AS SELECT count(*) AS n FROM visits",
        "GRANT SELECT ON town.visits TO reader",
        "GRANT SELECT (level) ON town.visits_dictionary TO reader",
    )
    rights = town.run("SHOW GRANTS FOR reader")
    before = town.run(ROWS)
    dbdeid.run(given(town, "hall.visits", k=20))
    assert town.run(ROWS) == own() != before
    assert town.run("SELECT n FROM seen") == [(len(own()),)]
    assert town.run("SHOW GRANTS FOR reader") == rights
    assert town.tables() == OWN | {"seen"}
    town.run("REVOKE ALL, GRANT OPTION FROM reader")
    assert dbdeid.verify(given(town, "hall.visits", k=20)).verified


@pytest.mark.full
def test_names_are_written_as_they_stand(place: Path, town: Maria) -> None:
    made = given(town, 'hall."odd `%s one"."a ""b"" `c` %d"', source="odd.parquet")
    made["columns"]["100% o'clock \"`"] = made["columns"].pop("sex")
    renamed = 'SELECT * RENAME (sex AS "100% o\'clock ""`") FROM \'visits.parquet\''
    duckdb.sql(f"COPY ({renamed}) TO 'odd.parquet'")
    dbdeid.run(made)
    schema, table = "`odd ``%s one`", '`a "b" ``c`` %d'
    there = town.run(f"SELECT count(*), min(`100% o'clock \"```) FROM {schema}.{table}`")
    assert there == [(len(own()), "f")]
    assert dbdeid.verify(made).verified
    assert town.tables() == set()
    town.run(f"DROP TABLE {schema}.{table}`, {schema}.{table}_dictionary`")


@pytest.mark.full
def test_what_is_refused(place: Path, town: Maria, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(*exports: str, **more: Any) -> str:
        return refused(lambda: dbdeid.run(given(town, *exports, **more)))

    town.run(
        "CREATE TABLE theirs (a INT PRIMARY KEY)",
        "CREATE TABLE child (a INT, FOREIGN KEY (a) REFERENCES theirs (a))",
        "CREATE VIEW seen AS SELECT 1 AS a",
        "CREATE SEQUENCE numbers",
    )
    before = town.tables()
    assert "the table that foreign keys point to 'theirs' in hall exists" in told("hall.theirs")
    assert "the table 'child' in hall exists and was not written by dbdeid" in told("hall.child")
    assert "the view 'seen' in hall exists" in told("hall.town.seen")
    assert "the sequence 'numbers' in hall exists" in told("hall.numbers")
    assert "takes names of 64 signs" in told(f"hall.{'é' * 65}")
    assert "does not take the name of the table" in told('hall."ends with a space "')
    assert "the user may not write tables in this database" in told("hall.visits", user="poor")
    assert "MySQL has no such database" in told("hall.nowhere.visits")
    monkeypatch.setenv("H", SECRET + "x")
    wrong = told("hall.visits", user="locked:${H}")
    assert "hall: no connection to MySQL: Access denied for user 'locked'" in wrong
    made = given(town, "hall.visits")
    made["attach"]["hall"] = town.address(database="").replace("/?", "?")
    assert "its address names no database" in refused(lambda: dbdeid.run(made))
    made = given(town, "hall.one", "again.two")
    made["attach"]["again"] = town.address(database="mysql")
    assert "hall and again are one database" in refused(lambda: dbdeid.run(made))
    monkeypatch.setenv("H", SECRET)
    locked = told("hall.nowhere.visits", user="locked:${H}")
    assert "may not write tables in this database" in locked
    town.run("SET GLOBAL read_only = 1")
    try:
        assert "the server takes no changes now" in told("hall.visits", user="locked:${H}")
    finally:
        town.run("SET GLOBAL read_only = 0")
    with monkeypatch.context() as patch:
        patch.setitem(mysql._OLDEST, "MariaDB", (99, 0))
        assert "does not rename several tables at once" in told("hall.visits")
    assert town.tables() == before


@pytest.mark.full
def test_what_others_write_meanwhile_stays(
    place: Path, town: Maria, monkeypatch: pytest.MonkeyPatch
) -> None:
    swap, commit = elsewhere.Deliveries.swap, MysqlTarget.commit
    theirs = "CREATE TABLE visits_dictionary (a INT)"

    with monkeypatch.context() as patch:  # before the run is in the book
        patch.setattr(elsewhere.Deliveries, "swap", lambda one: (town.run(theirs), swap(one)))
        told = refused(lambda: dbdeid.run(given(town, "hall.visits")))
    assert "another session made a table of that name" in told
    assert town.tables() == {"visits_dictionary"}
    town.run("DROP TABLE visits_dictionary")
    with monkeypatch.context() as patch:  # and right before all is renamed
        patch.setattr(MysqlTarget, "commit", lambda one: (town.run(theirs), commit(one)))
        told = refused(lambda: dbdeid.run(given(town, "hall.visits")))
    assert "another session made a table of that name" in told
    assert "hall.visits may hold the release before this one" in told
    assert town.tables() == {"visits_dictionary"}
    town.run("DROP TABLE visits_dictionary")

    dbdeid.run(given(town, "hall.visits"))
    changed = "UPDATE visits SET dose = 99 LIMIT 1"
    with monkeypatch.context() as patch:
        patch.setattr(MysqlTarget, "commit", lambda one: (town.run(changed), commit(one)))
        told = refused(lambda: dbdeid.run(given(town, "hall.visits", k=20)))
    assert "another session changed the table that was to be replaced" in told
    assert town.run("SELECT count(*) FROM visits WHERE dose = 99") == [(1,)]
    assert town.tables() == OWN
    told = refused(lambda: dbdeid.run(given(town, "hall.visits")))
    assert "'visits' in hall was changed since dbdeid wrote it" in told
    # nobody reads a row before all are renamed
    town.run("DROP TABLE visits, visits_dictionary")
    seen: list[tuple[set[str], int]] = []

    def looking(one: elsewhere.Deliveries) -> None:
        swap(one)
        names = town.tables()
        seen.append((names, sum(town.run(f"SELECT count(*) FROM `{n}`")[0][0] for n in names)))

    with monkeypatch.context() as patch:
        patch.setattr(elsewhere.Deliveries, "swap", looking)
        dbdeid.run(given(town, "hall.visits"))
    assert [(len(names), rows) for names, rows in seen] == [(2, 0)]
    assert all(name.startswith("deid_new_") for name in seen[0][0])
    assert town.tables() == OWN


@pytest.mark.full
def test_a_server_that_goes_away(place: Path, town: Maria, monkeypatch: pytest.MonkeyPatch) -> None:
    dbdeid.run(given(town, "hall.visits"))
    before = town.run(ROWS)

    def ends(during: str) -> str:
        whole = getattr(MysqlTarget, during)

        def ending(self: Any, *more: Any) -> Any:
            town.end_others()
            return whole(self, *more)

        with monkeypatch.context() as patch:
            patch.setattr(MysqlTarget, during, ending)
            return refused(lambda: dbdeid.run(given(town, "hall.visits", k=20)))

    for during in ("found", "lock", "write", "rows"):
        told = ends(during)
        assert "hall: " in told
        assert "text withheld: it may quote data" in told
        assert town.run(ROWS) == before
        assert len(own()) == len(before)
    assert "may hold the release before this one" in ends("commit")
    assert town.run(ROWS) == before != own()
    found = dbdeid.verify(given(town, "hall.visits", k=20))
    assert "holds an earlier run" in "; ".join(found.failures)
    # what the lost sessions could not drop has no rows, and goes with the next
    left = town.tables() - OWN
    assert all(town.run(f"SELECT count(*) FROM `{name}`") == [(0,)] for name in left)
    export_release(given(town, "hall.visits", k=20), Path("hall.visits"))
    assert town.run(ROWS) == own()
    assert town.tables() == OWN
    assert dbdeid.verify(given(town, "hall.visits", k=20)).verified


@pytest.mark.full
def test_a_run_that_is_killed_before_any_statement(
    place: Path, town: Maria, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for k in (3, 20):
        Path(f"k{k}.json").write_text(json.dumps(given(town, "hall.visits", k=k)))
    known: dict[int, Any] = {}
    with Server(tmp_path_factory.mktemp("told") / "told") as runner:
        for k in (3, 20):
            moment = {"call": CALL, "number": 0}
            ended = runner.run(place, "run", f"k{k}.json", moment=moment)
            assert ended.code == 0, ended.err
            known[k] = town.run(ROWS)
        assert known[3] != known[20]
        statements, mended = ended.steps, 0
        assert statements > 20
        for number in range(1, statements + 1):
            before = town.run(ROWS)
            k = 3 if before == known[20] else 20
            moment = {"call": CALL, "number": number}
            ended = runner.run(place, "run", f"k{k}.json", moment=moment)
            assert ended.code == -9
            there, more = town.run(ROWS), town.tables() - OWN
            assert town.tables() >= OWN
            assert there in (before, known[k])
            assert all(name.startswith(("deid_new_", "deid_old_")) for name in more)
            # what lies aside: nothing, or a release that was verified, of this run or the last
            for name in more:
                rows = town.run(f"SELECT * FROM `{name}`")
                assert rows == [] or name.startswith("deid_old_") or there == before, number
            if own() == known[k] != there:
                found = dbdeid.verify(Path(f"k{k}.json"))
                assert "holds an earlier run" in "; ".join(found.failures)
                export_release(Path(f"k{k}.json"), Path("hall.visits"))
                mended += 1
            elif not more:
                continue
            else:
                k = 3 if there == known[3] else 20
                ended = runner.run(place, "run", f"k{k}.json")
                assert ended.code == 0, ended.err
            assert town.run(ROWS) == known[k]
            assert town.tables() == OWN
        assert mended


def test_no_secret_is_kept_or_shown(
    place: Path, town: Maria, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HALL", SECRET)
    wanted = given(town, "hall.visits", user="locked:${HALL}")
    with caplog.at_level("DEBUG"):
        done = dbdeid.run(wanted)
    shown = repr(done) + caplog.text + str(done.to_dict())
    files = [path.read_bytes() for path in place.iterdir() if path.suffix != ".parquet"]
    assert all(b"hu5h" not in text for text in (shown.encode(), *files))


@pytest.mark.full
def test_anyone_verifies_a_table_without_a_spec(place: Path, town: Maria) -> None:
    made = given(town, "hall.visits")
    dbdeid.run(made)
    asked = ["verify", made["attach"]["hall"], "visits", "--qi", "age", "--qi", "sex"]
    done = CliRunner().invoke(app, [*asked, "--k", "3"])
    assert done.exit_code == 0, done.output
    assert CliRunner().invoke(app, [*asked, "--k", "40"]).exit_code == 4


@pytest.mark.full
def test_a_text_that_is_longer_than_the_server_takes(place: Path, town: Maria) -> None:
    packet = town.run("SELECT @@max_allowed_packet")[0][0]
    long = "SELECT * REPLACE (repeat('f', 9000) AS sex) FROM 'visits.parquet'"
    duckdb.sql(f"COPY ({long}) TO 'l.csv'")
    made = given(town, "hall.visits", source="l.csv")
    why = {"accept": "looks_like_identifier", "reason": "letters in a test"}
    made["columns"]["sex"] |= why
    town.run("SET GLOBAL max_allowed_packet = 4096")
    try:
        told = refused(lambda: dbdeid.run(made))
    finally:
        town.run(f"SET GLOBAL max_allowed_packet = {packet}")
    assert "hall: the connection ended" in told
    assert "max_allowed_packet" in told
    assert "ffff" not in told
