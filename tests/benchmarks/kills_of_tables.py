"""Kills of runs that write into tables of SQLite, PostgreSQL and MariaDB: old or new, and whole.

    python tests/benchmarks/kills_of_tables.py --kills 60 --seed 1

Runs are ended by SIGKILL at steps in the file system that are spread over all of them, at random
moments, right after their commit, before the renames that come between it and those of the other
databases, and before statements to MariaDB. After each kill the tables hold the old release or the
new one as it was verified, never a new one that no book knows; `verify` tells of each that is older
than the book, and `dbdeid export` mends it; no other table, transaction or file is left, but for
tables of MariaDB that the run had put aside, which the next one drops.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sqlite3
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1]))

import duckdb
import mariadb_server
from mariadb_server import Maria
from postgres_server import Server as Postgres
from postgres_server import programs, running
from served import Server
from worlds import SMALL, SMALL_COLUMNS

import dbdeid
from dbdeid.bind.read import read
from dbdeid.commands.verify_evaluate_export import export_release
from dbdeid.workspace.workplace import workplace

KS = (5, 10)
TABLES = ("lake.released", "hall.released", "shop.released")
OWN = {"released", "released_dictionary"}
ASKED = "dbdeid.targets.mysql:MysqlTarget._asked"
Rows = list[str]


@dataclass(frozen=True)
class World:
    """Where runs are killed.

    Attributes:
        folder: of the owner.
        server: of PostgreSQL.
        maria: of MariaDB.
    """

    folder: Path
    server: Postgres
    maria: Maria


def lay_out(world: World) -> None:
    """A source, three databases, and a spec for each k."""
    folder, server = world.folder, world.server
    with duckdb.connect(str(folder / "owner.duckdb")) as con:
        con.execute(SMALL.replace("range(1500)", "range(300)"))
    with sqlite3.connect(folder / "lake.sqlite") as lake:
        lake.execute("CREATE TABLE other (a)")
    lake.close()
    for k in KS:
        spec = {
            "release": "released",
            "database": "owner.duckdb",
            "source": "source",
            "attach": {
                "lake": "lake.sqlite",
                "hall": f"postgresql://owner@/postgres?host={server.folder}",
                "shop": world.maria.address(),
            },
            "columns": SMALL_COLUMNS,
            "privacy": [{"model": "k_anonymity", "k": k}],
            "method": {"name": "full_domain", "suppression_limit": 0.1},
            "evaluate": {"metrics": []},
            "output": {"export": ["out.csv", *TABLES]},
        }
        (folder / f"k{k}.yml").write_text(json.dumps(spec))


def standing(world: World, *, clean: bool) -> dict[str, Rows]:
    """The rows of the tables, as their own programs tell them; nothing else is there."""
    folder, server, maria = world.folder, world.server, world.maria
    lake = sqlite3.connect(folder / "lake.sqlite")
    names = {name for (name,) in lake.execute("SELECT name FROM sqlite_master")}
    found = lake.execute("SELECT * FROM released").fetchall()
    assert lake.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    lake.close()
    assert names == {"other", "released", "released_dictionary"}, names
    own = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
    assert server.run(own).split() == ["released", "released_dictionary"]
    others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    for _ in range(200):  # until the server has seen that the client is gone
        if server.run(others).strip() == "1":
            break
    else:
        raise AssertionError("a session is left on the server")
    more = maria.tables() - OWN
    assert maria.tables() >= OWN
    assert all(name.startswith("deid_") for name in more)
    assert not (more and clean), more
    return {
        TABLES[0]: texts(found),
        TABLES[1]: server.run("SELECT * FROM released").splitlines(),
        TABLES[2]: texts(maria.run("SELECT * FROM released")),
    }


def texts(rows: list[tuple[Any, ...]]) -> Rows:
    """Rows as psql writes them."""
    return ["|".join("" if c is None else str(c) for c in row) for row in rows]


def booked(folder: Path) -> int:
    """The k of the last run in the book."""
    with workplace(read(folder / f"k{KS[0]}.yml"), writing=False) as work:
        return int(work.entries[0].record["privacy"][0]["k"])


def judge(world: World, known: dict[int, Rows], before: int, *, finished: bool) -> tuple[int, int]:
    """The k of the book, and how many tables were older, which are mended."""
    folder, k = world.folder, booked(world.folder)
    spec, found = folder / f"k{k}.yml", standing(world, clean=finished)
    older = {name for name, rows in found.items() if rows != known[k]}
    assert all(found[name] == known[before] for name in older)
    # what goes when their files are next written
    logs = set() if finished else {"owner.duckdb.wal", "lake.sqlite-journal"}
    left = {path.name for path in folder.iterdir()} - logs
    assert left == {
        *("owner.duckdb", "out.csv", "out_dictionary.csv", "lake.sqlite"),
        *(f"k{k}.yml" for k in KS),
    }, left
    if k == before:  # as it was found to be
        assert not older
        return k, 0
    verified = dbdeid.verify(spec)
    told = {text.partition("(")[2].partition(")")[0] for text in verified.failures}
    assert told == older, verified.failures
    assert all("holds an earlier run" in text for text in verified.failures)
    for name in older:
        export_release(spec, Path(name))
    assert not older or dbdeid.verify(spec).verified
    return k, len(older)


def main() -> int:
    """Kill, judge, and count."""
    ask = argparse.ArgumentParser()
    ask.add_argument("--kills", type=int, default=60)
    ask.add_argument("--seed", type=int, default=1)
    asked = ask.parse_args()
    draw, counts = random.Random(asked.seed), Counter[tuple[str, str]]()
    found, others = programs(), mariadb_server.programs()
    assert found is not None, "no PostgreSQL server is installed"
    assert others is not None, "no MariaDB server is installed"
    with (
        running(found) as server,
        mariadb_server.running(others) as maria,
        tempfile.TemporaryDirectory() as place,
    ):
        folder = Path(place) / "world"
        folder.mkdir()
        world = World(folder, server, maria)
        lay_out(world)
        known: dict[int, Rows] = {}
        with Server(Path(place) / "told") as runner:
            for k in KS:
                asks = {"call": ASKED, "number": 0}
                statements = runner.run(folder, "run", f"k{k}.yml", moment=asks).steps
                ended = runner.run(folder, "run", f"k{k}.yml", moment={"step": 0})
                assert ended.code == 0, ended.err
                now = standing(world, clean=True)
                known[k] = now[TABLES[0]]
                assert all(rows == known[k] for rows in now.values())
                with duckdb.connect(str(folder / "owner.duckdb"), read_only=True) as con:
                    own = con.execute("FROM released").fetchall()
                assert texts(own) == known[k]
            before, killed = KS[1], 0
            while killed < asked.kills:
                kind = ("step", "random time", "commit", "rename", "statement")[killed % 5]
                after, moment = None, {}
                if kind == "step":
                    moment = {"step": draw.randint(1, ended.steps)}
                elif kind == "random time":
                    after = draw.uniform(0, ended.seconds)
                elif kind == "commit":
                    after, moment = draw.uniform(0, 0.05), {"commit": True}
                elif kind == "rename":
                    moment = {"step": draw.randint(1, 2), "of": "os.rename"}
                else:
                    moment = {"call": ASKED, "number": draw.randint(1, statements)}
                wanted = KS[before == KS[0]]
                run = runner.run(folder, "run", f"k{wanted}.yml", after=after, moment=moment)
                assert run.code in (-signal.SIGKILL, 0), run
                k, older = judge(world, known, before, finished=run.code == 0)
                assert k in (before, wanted)
                assert run.code != 0 or (k, older) == (wanted, 0)
                what = "old" if k == before else f"new, {older} tables were older"
                counts[kind if run.code else "not killed", what] += 1
                killed += run.code != 0
                print(f"{killed:3} {kind}: {what}", flush=True)
                before = k
            last = runner.run(folder, "run", f"k{KS[before == KS[0]]}.yml")
            assert last.code == 0, last.err
            judge(world, known, before, finished=True)
    for (kind, outcome), n in sorted(counts.items()):
        print(f"  {kind:14}{outcome:26}{n:4}")
    print(f"{killed} kills, 0 findings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
