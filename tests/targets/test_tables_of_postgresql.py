"""A release in a table of PostgreSQL: what is there, who may read it, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from lakes import spec
from postgres_server import Server
from typer.testing import CliRunner

import dbdeid
from dbdeid.cli.app import app
from dbdeid.commands.report import write_report
from dbdeid.engine.engines import ENGINE
from dbdeid.engine.relation import Relation
from dbdeid.errors import DbdeidError
from dbdeid.sources.attached import Database
from dbdeid.sources.postgres import Postgres
from dbdeid.sources.rows import temporary
from dbdeid.targets.postgres import PostgresTarget
from dbdeid.targets.shape import shaped
from dbdeid.targets.target import opened

SECRET = "hu5h/h@sh"


@pytest.fixture(scope="module")
def town(server: Server) -> Server:
    """The server, with users who may do this and that."""
    server.run("CREATE ROLE poor LOGIN; CREATE ROLE reader; CREATE ROLE keeper")
    server.run("CREATE ROLE writer LOGIN IN ROLE keeper; GRANT CREATE ON SCHEMA public TO keeper")
    server.run(f"CREATE ROLE locked LOGIN PASSWORD '{SECRET}'")
    hba = server.folder / "data" / "pg_hba.conf"
    hba.write_text("local all locked scram-sha-256\n" + hba.read_text())
    server.run("SELECT pg_reload_conf()")
    return server


def given(server: Server, *exports: str, user: str = "owner", **more: Any) -> Any:
    address = f"postgresql://{user}@/postgres?host={server.folder}"
    return spec(*exports, attach={"hall": address}, **more)


def refused(run: Callable[[], Any]) -> str:
    with pytest.raises(DbdeidError) as error:
        run()
    told = str(error.value)
    whole = f"{told}{error.value.__context__!r}{error.value.__cause__!r}"
    assert SECRET not in whole
    assert "hu5h" not in whole
    return told


def names(server: Server) -> set[str]:
    return set(server.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").split())


@pytest.mark.full
def test_it_is_replaced_as_a_whole_with_its_rights(place: Path, town: Server) -> None:
    defaults = "ALTER DEFAULT PRIVILEGES FOR ROLE writer GRANT SELECT ON TABLES TO poor"
    town.run(defaults)
    dbdeid.run(given(town, "hall.public.visits", "lake.visits", user="writer"))
    town.run(
        "ALTER TABLE visits OWNER TO keeper; GRANT SELECT ON visits TO reader WITH GRANT OPTION; "
        "GRANT SELECT ON visits TO PUBLIC; "
        # what new tables have by default, and this one has no more
        "REVOKE ALL ON visits, visits_dictionary FROM poor"
    )
    rights = "SELECT relacl::text, relowner::regrole FROM pg_class WHERE relname = 'visits'"
    before = town.run(rights)
    assert "reader=r*/keeper" in before
    wanted = given(town, "hall.public.visits", "lake.visits", user="writer", k=20)
    dbdeid.run(wanted)
    after = town.run(rights)
    grants = {one: sorted(one.split("|")[0].strip("{}").split(",")) for one in (before, after)}
    assert [one.split("/")[0] for one in grants[after]] == [
        one.split("/")[0] for one in grants[before]
    ]
    assert after.strip().endswith("|keeper")
    poor = "SELECT has_table_privilege('poor', 'visits_dictionary', 'SELECT')"
    assert town.run(poor).strip() == "f"
    assert dbdeid.verify(wanted).verified
    with duckdb.connect("owner.duckdb", read_only=True) as connection:
        query = "SELECT age, sex, dose::VARCHAR, ill::INT, seen::VARCHAR FROM visits_public"
        own = connection.execute(query).fetchall()
    query = "SELECT age, sex, dose, ill::int, seen FROM visits"
    there = [line.split("|") for line in town.run(query).splitlines()]
    assert there == [["" if c is None else str(c) for c in row] for row in own]
    kinds = "SELECT data_type FROM information_schema.columns WHERE table_name = 'visits'"
    assert town.run(kinds + " ORDER BY ordinal_position").splitlines() == [
        *("text", "text", "numeric", "boolean", "date"),
    ]

    # what depends on it is not dropped along
    town.run("CREATE VIEW watching AS SELECT count(*) FROM visits")
    told = refused(lambda: dbdeid.run(wanted))
    assert "views or keys there depend on the table" in told
    town.run("DROP VIEW watching; UPDATE visits SET dose = 9")
    assert "'visits' in hall was changed" in refused(lambda: dbdeid.run(wanted))
    town.run("DROP TABLE visits, visits_dictionary")
    town.run(defaults.replace("GRANT", "REVOKE").replace(" TO ", " FROM "))


def test_what_a_stranger_makes_meanwhile_stays(town: Server) -> None:
    database = Database("hall", f"postgresql://owner@/postgres?host={town.folder}", Path())
    mine = Relation("meanwhile", schema="public")
    with opened(database, writing=True) as there, ENGINE.open(None, read_only=True) as session:
        assert there.found(mine) is None
        session.execute("CREATE TEMP TABLE given AS SELECT 1 AS a")
        shape = shaped(session, "postgres", temporary("given"), "t")
        there.write(Relation("new", schema="public"), shape, session.batches(shape.rows))
        town.run("CREATE TABLE meanwhile AS SELECT 'theirs' AS secret")
        with pytest.raises(DbdeidError, match="another session made a table of that name"):
            there.rename(Relation("new", schema="public"), mine)
    assert town.run("TABLE meanwhile").strip() == "theirs"
    town.run("DROP TABLE meanwhile")


def test_what_the_database_sets_changes_nothing(
    town: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    town.run(
        "CREATE DATABASE odd ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0; "
        "ALTER DATABASE odd SET search_path = public, pg_catalog; "
        "ALTER DATABASE odd SET default_transaction_isolation = 'serializable'"
    )
    database = Database("hall", f"postgresql://owner@/odd?host={town.folder}", Path())
    kept, greek = Relation("kept", schema="public"), Relation("greek", schema="public")
    with opened(database, writing=True) as there, ENGINE.open(None, read_only=True) as session:
        assert isinstance(there, PostgresTarget)
        assert there.found(kept) is None
        there._run("CREATE DOMAIN public.text AS pg_catalog.varchar(1)")
        for place, text in ((kept, "fé"), (greek, "Ω")):
            session.execute(f"CREATE OR REPLACE TEMP TABLE given AS SELECT '{text}' AS a")
            shape = shaped(session, "postgres", temporary("given"), "t")
            if place is greek:
                with pytest.raises(DbdeidError, match="of signs outside of its encoding"):
                    there.write(place, shape, session.batches(shape.rows))
            else:
                there.write(place, shape, session.batches(shape.rows))
                found = there._run(
                    "SELECT a, octet_length(a), pg_typeof(a)::name, "
                    "current_setting('transaction_isolation') FROM public.kept"
                )
                assert found.fetchall() == [("fé", 2, "text", "read committed")]


@pytest.mark.full
def test_what_is_refused(place: Path, town: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(*exports: str, **more: Any) -> str:
        return refused(lambda: dbdeid.run(given(town, *exports, **more)))

    town.run("CREATE TABLE theirs (a int); CREATE VIEW seen AS SELECT 1 AS a")
    town.run("CREATE TABLE parts (a int) PARTITION BY RANGE (a)")
    town.run("CREATE TABLE guarded (a int); ALTER TABLE guarded ENABLE ROW LEVEL SECURITY")
    before = names(town)
    assert "the table 'theirs' in hall exists" in told("hall.theirs")
    assert "the view 'seen' in hall exists" in told("hall.public.seen")
    assert "the partitioned table 'parts' in hall exists" in told("hall.parts")
    assert "the table with policies of its rows 'guarded' in hall exists" in told("hall.guarded")
    assert "cuts names after 63 bytes" in told(f"hall.{'é' * 32}")
    assert "the user may not write this table" in told("hall.mine", user="poor")
    assert "PostgreSQL has no schema 'nowhere'" in told("hall.nowhere.mine")
    monkeypatch.setenv("HALL", SECRET + "x")
    wrong = told("hall.mine", user="locked:${HALL}")
    assert "no connection to PostgreSQL" in wrong
    assert "password authentication failed" in wrong
    monkeypatch.setenv("HALL", SECRET)
    assert "may not write this table" in told("hall.mine", user="locked:${HALL}")
    town.run("ALTER DATABASE postgres SET default_transaction_read_only = on")
    try:
        assert "the server takes no changes now" in told("hall.mine")
    finally:
        town.run(
            "SET default_transaction_read_only = off; "
            "ALTER DATABASE postgres RESET default_transaction_read_only"
        )
    assert names(town) == before
    town.run("DROP TABLE theirs, parts, guarded; DROP VIEW seen")


@pytest.mark.full
def test_a_server_that_goes_away(
    place: Path, town: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(during: str, of: type) -> str:
        whole = getattr(of, during)

        def ending(self: Any, *more: Any) -> Any:
            town.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
            return whole(self, *more)

        with monkeypatch.context() as patch:
            patch.setattr(of, during, ending)
            return refused(lambda: dbdeid.run(given(town, 'hall."odd "" one"')))

    before = names(town)
    for during, of in (("write", PostgresTarget), ("read", Postgres), ("rename", PostgresTarget)):
        told = ends(during, of)
        assert "hall: " in told
        assert "text withheld: it may quote data" in told
        assert names(town) == before
        assert not Path("owner.duckdb").exists() or not _runs()
    assert "may hold the release before this one" in ends("commit", PostgresTarget)
    assert _runs() == 1
    assert names(town) == before
    dbdeid.run(given(town, 'hall."odd "" one"'))
    assert dbdeid.verify(given(town, 'hall."odd "" one"')).verified
    town.run('DROP TABLE "odd "" one", "odd "" one_dictionary"')


def _runs() -> int:
    with duckdb.connect("owner.duckdb", read_only=True) as connection:
        try:
            return len(connection.execute("FROM deid.releases").fetchall())
        except duckdb.CatalogException:
            return 0


def test_no_secret_is_kept_or_shown(
    place: Path,
    town: Server,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    town.run("GRANT CREATE ON SCHEMA public TO locked")
    monkeypatch.setenv("HALL", SECRET)
    wanted = given(town, "hall.kept", user="locked:${HALL}")
    with caplog.at_level("DEBUG"):
        done = dbdeid.run(wanted)
    Path("spec.yml").write_text(json.dumps(wanted))
    page = write_report(Path("spec.yml"), "public", Path("public.html"))
    shown = repr(done) + caplog.text + str(done.to_dict())
    assert page.read_text()
    files = [path for path in place.iterdir() if path.suffix != ".parquet"]
    for text in (shown.encode(), *(path.read_bytes() for path in files)):
        assert b"hu5h" not in text
    assert "hall.kept" not in page.read_text()  # names of the owner's databases are private
    town.run("DROP TABLE kept, kept_dictionary")


@pytest.mark.full
def test_two_names_of_one_database_are_refused_at_once(place: Path, town: Server) -> None:
    made = given(town, "hall.one", "again.two")
    other = made["attach"]["hall"].replace("owner@", "writer@")
    made["attach"]["again"] = f"{other}&connect_timeout=9"
    before = names(town)
    assert "hall and again are one database" in refused(lambda: dbdeid.run(made))
    assert names(town) == before


@pytest.mark.full
def test_anyone_verifies_a_table_without_a_spec(place: Path, town: Server) -> None:
    made = given(town, "hall.verified")
    dbdeid.run(made)
    asked = ["verify", made["attach"]["hall"], "verified", "--qi", "age", "--qi", "sex"]
    run = CliRunner()
    done = run.invoke(app, [*asked, "--k", "3"])
    assert done.exit_code == 0, done.output
    assert run.invoke(app, [*asked, "--k", "40"]).exit_code == 4
    told = run.invoke(app, ["verify", f"postgresql://owner:{SECRET}@/postgres", "verified"])
    assert told.exit_code == 2
    assert "hu5h" not in told.output
