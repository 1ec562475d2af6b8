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

import dbdeid
from dbdeid.commands.report import write_report
from dbdeid.errors import DbdeidError
from dbdeid.sources.postgres import Postgres
from dbdeid.targets.postgres import PostgresTarget

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
    dbdeid.run(given(town, "hall.public.visits", "lake.visits", user="writer"))
    town.run(
        "ALTER TABLE visits OWNER TO keeper; GRANT SELECT ON visits TO reader WITH GRANT OPTION; "
        "GRANT SELECT ON visits TO PUBLIC"
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
    for during, of in (("write", PostgresTarget), ("read", Postgres), ("swap", PostgresTarget)):
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
