"""A run is killed between the commit of its owner's database and those of the databases it fills.

The book has the new run then, and the tables still hold the one before: each whole, none half.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
from lakes import left_behind, rows, spec, tables
from mariadb_server import Maria
from postgres_server import Server as Postgres
from served import Server

import dbdeid

COMMIT = "dbdeid.publish.elsewhere:Deliveries.commit"
KS = (3, 20)
Found = tuple[set[str], int]  # the tables, and how many rows the release has


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("told") / "told") as running:
        yield running


def lay_out(name: str, **attach: str) -> None:
    for k in KS:
        made = spec(name, k=k, attach=attach)
        Path(f"k{k}.json").write_text(json.dumps(made))


def own() -> int:
    with duckdb.connect("owner.duckdb", read_only=True) as connection:
        return len(connection.execute("FROM visits_public").fetchall())


def run(runner: Server, place: Path, k: int, **moment: Any) -> int:
    ended = runner.run(place, "run", f"k{k}.json", moment=moment or {"step": 0})
    assert ended.code in (0, -9), ended.err
    return ended.code


def killed_between(
    runner: Server, place: Path, name: str, look: Callable[[], Found], *, leaves: int = 0
) -> None:
    """Kill a run there, see what stands, and let the next run, or an export, mend it."""
    for mend in tiers.some(("run", "export"), 2):
        assert run(runner, place, KS[0]) == 0
        names, before = look()
        assert before == own()
        assert run(runner, place, KS[1], call=COMMIT, number=1) == -9
        there, standing = look()
        assert standing == before != own()
        assert (names <= there, len(there - names)) == (True, leaves)
        found = dbdeid.verify(Path(f"k{KS[1]}.json"))
        assert found.failures == (
            f"table ({name}): holds an earlier run: `dbdeid export SPEC {name}` writes the last "
            "one there",
        )
        words = ("run", f"k{KS[1]}.json") if mend == "run" else ("export", f"k{KS[1]}.json", name)
        ended = runner.run(place, *words)
        assert ended.code == 0, ended.err
        assert look() == (names, own())
        assert dbdeid.verify(Path(f"k{KS[1]}.json")).verified
        log = {"owner.duckdb.wal"}  # which goes when the database is next written
        assert left_behind(place) - log == {f"k{k}.json" for k in KS}


def test_a_table_of_sqlite(place: Path, runner: Server) -> None:
    lay_out("lake.visits")
    killed_between(
        runner, place, "lake.visits", lambda: (tables(), len(rows("SELECT * FROM visits")))
    )


@pytest.mark.full
def test_a_table_of_postgresql(place: Path, runner: Server, server: Postgres) -> None:
    lay_out("hall.visits", hall=f"postgresql://owner@/postgres?host={server.folder}")

    def look() -> Found:
        names = server.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return set(names.split()), int(server.run("SELECT count(*) FROM visits"))

    killed_between(runner, place, "hall.visits", look)
    server.run("DROP TABLE visits, visits_dictionary")


@pytest.mark.full
def test_a_table_of_mysql(place: Path, runner: Server, maria: Maria) -> None:
    lay_out("hall.visits", hall=maria.address())

    def look() -> Found:
        return maria.tables(), maria.run("SELECT count(*) FROM visits")[0][0]

    # of what the run had made aside, two tables, nobody ever saw a row, and the next run drops them
    killed_between(runner, place, "hall.visits", look, leaves=2)
    maria.run("DROP TABLE visits, visits_dictionary")
