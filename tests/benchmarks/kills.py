"""Kills of runs of every method and of projects: the old release stands, or the new one, whole.

    python tests/benchmarks/kills.py --kills 30 --seed 1 --log kills.jsonl

Of each method that many runs are ended by SIGKILL, at steps in the file system that are spread over
all of them and at random moments, and as many runs of a project of three releases. After each kill
the next command looks at what stands: a release whose files do not agree, that is not verified or
of which something is left behind is a finding, and makes the exit code 1. The tests do the same
with one method, in `tests/faults/test_kills.py`.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

sys.path.insert(0, str(Path(__file__).parents[1] / "project"))
sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))
sys.path.insert(0, str(Path(__file__).parents[1]))

import duckdb
import folders
from served import Server
from worlds import KS, SMALL, SMALL_COLUMNS, World

import dbdeid
from dbdeid.bind.read import read
from dbdeid.workspace.workplace import workplace

WITHOUT_DICTIONARY = ("microaggregation", "condensation")
METHODS: dict[str, dict[str, Any]] = {
    "full_domain": {"suppression_limit": 0.1},
    "local_recoding": {},
    "counterfeit": {"h": 0.8, "max_counterfeits": 0.5},
    "microaggregation": {},
    "condensation": {},
    "policy": {"choose": {"max_loss": 1}},
    "relocation": {"limit": 0.1},
}
PLAIN = {"age": "quasi_identifier", "sex": "quasi_identifier", "illness": SMALL_COLUMNS["illness"]}
COLUMNS: dict[str, dict[str, Any]] = {
    "microaggregation": {"name": "identifier", "zip": "drop", **PLAIN},
    "condensation": {"name, zip": "drop", "age, sex, illness": "synthesize"},
    "policy": {
        "name, zip, sex": "drop",
        "age": {"role": "quasi_identifier", "domain": [20, 79]},
        "illness": SMALL_COLUMNS["illness"],
    },
}


@dataclass(frozen=True)
class Method(World):
    """A world in which the release is made by some method, into files of its own."""

    method: str = "full_domain"

    @classmethod
    def of(cls, folder: Path, method: str) -> Self:
        world = cls(folder, "small", "target", method)
        folder.mkdir(parents=True)
        with duckdb.connect(str(folder / "owner.duckdb")) as con:
            con.execute(SMALL.replace("range(1500)", "range(300)"))
            con.execute("CREATE TABLE other AS SELECT range AS a FROM range(1000)")
            con.execute("CREATE VIEW seen AS SELECT count(*) AS n FROM other")
        for k in KS:
            (folder / f"k{k}.yml").write_text(json.dumps(world.spec(k)))
        return world

    def spec(self, k: int) -> dict[str, Any]:
        model = "cluster_size" if self.method == "condensation" else "k_anonymity"
        spec = super().spec(k)
        spec["output"]["partition_by"] = ["illness"]  # which every method releases
        return spec | {
            "columns": COLUMNS.get(self.method, SMALL_COLUMNS),
            "privacy": [{"model": model, "k": k}],
            "method": {"name": self.method, **METHODS[self.method]},
        }

    @property
    def names(self) -> set[str]:
        found = super().names
        if self.method in WITHOUT_DICTIONARY:
            found -= {name for name in found if "_dictionary." in name}
        if self.method == "counterfeit":
            found |= {
                name.replace("_dictionary.", "_catalog.")
                for name in found
                if "_dictionary." in name
            }
        return found

    @property
    def qis(self) -> list[str]:
        if self.method == "condensation":
            return ["sex"]
        columns = COLUMNS.get(self.method, SMALL_COLUMNS)
        return [
            n
            for n, c in columns.items()
            if c == "quasi_identifier" or (isinstance(c, dict) and c["role"] == "quasi_identifier")
        ]


def moments(
    draw: random.Random, seconds: float, steps: int, kills: int
) -> list[tuple[str, float | None, dict[str, Any]]]:
    """Half of the kills at steps, evenly spread, and half at random times and while it commits."""
    found: list[tuple[str, float | None, dict[str, Any]]] = []
    for i in range(kills):
        kind = i % 6
        if kind < 3:
            step = min(steps, 1 + int((i // 6 * 3 + kind + draw.random()) * steps / (kills / 2)))
            found.append(("step", None, {"step": step}))
        elif kind < 5:
            found.append(("random time", draw.uniform(0, seconds), {}))
        else:
            found.append(("at the commit", draw.uniform(0, 0.012), {"commit": True}))
    draw.shuffle(found)
    return found


def of_method(method: str, kills: int, seed: int, folder: Path) -> Counter[tuple[str, str, str]]:
    """Kill runs of a method, one after the other."""
    draw, counts = random.Random(f"{seed}{method}"), Counter[tuple[str, str, str]]()
    world = Method.of(folder / method, method)
    with Server(folder / f"told {method}") as server:
        ended = server.run(world.folder, "run", f"k{KS[0]}.yml")
        assert ended.code == 0, ended.err
        ended = server.run(world.folder, "run", f"k{KS[1]}.yml", moment={"step": 0})
        assert ended.code == 0, ended.err
        standing = world.judge(finished=True)
        assert standing == KS[1]
        for kind, after, more in moments(draw, ended.seconds, ended.steps, kills):
            wanted = KS[standing == KS[0]]
            run = server.run(world.folder, "run", f"k{wanted}.yml", after=after, moment=more)
            assert run.code in (-signal.SIGKILL, 0), run
            found = world.judge(finished=run.code == 0)
            assert found in (standing, wanted), (found, standing, wanted)
            assert not (run.code == 0 and found != wanted)
            assert not list(world.folder.rglob(".dbdeid-*"))
            old = "old" if found == standing else "new"
            counts[method, kind if run.code else "not killed", old] += 1
            standing = found
        last = server.run(world.folder, "run", f"k{KS[standing == KS[0]]}.yml")
        assert last.code == 0, last.err
        world.judge(finished=True)
    return counts


RELEASES = ("first", "second", "third")


def of_project(kills: int, seed: int, folder: Path) -> Counter[tuple[str, str, str]]:
    """Kill runs of a project: each of its releases is the old one or the new one."""
    draw, counts = random.Random(f"{seed}project"), Counter[tuple[str, str, str]]()
    changes = {name: {"output": {"export": [f"{name}.parquet"]}} for name in RELEASES}
    place = folders.lay_out(folder / "project", changes)

    def declare(k: int) -> None:
        for name in RELEASES:
            folders.write(place, name, privacy=[{"model": "k_anonymity", "k": k}], **changes[name])

    def standing() -> dict[str, int]:
        found = {}
        for name in RELEASES:
            path = place / "releases" / f"{name}.yml"
            with workplace(read(path), writing=False) as work:
                found[name] = int(work.entries[0].record["privacy"][0]["k"])
            verified = dbdeid.verify(path)
            assert verified.verified, verified.failures
            exported = next(place.rglob(f"{name}.parquet"))
            with duckdb.connect() as con:
                con.execute(f"ATTACH '{place}/out/{name}.duckdb' AS given (READ_ONLY)")
                both = [
                    con.execute(f"FROM {table} ORDER BY ALL").fetchall()
                    for table in (f"given.main.{name}", f"'{exported}'")
                ]
            assert both[0] == both[1]
            sizes = Counter(row[:2] for row in both[0])
            assert min(sizes.values()) >= found[name]
        return found

    with Server(folder / "told project") as server:
        ks = (2, 3)
        declare(ks[0])
        ended = server.run(place, "run", moment={"step": 0})
        assert ended.code == 0, ended.err
        before, wanted = standing(), ks[1]
        for kind, after, more in moments(draw, ended.seconds, ended.steps, kills):
            declare(wanted)
            run = server.run(place, "run", after=after, moment=more)
            assert run.code in (-signal.SIGKILL, 0), run
            now = standing()
            dbdeid.project(place)  # as every command on it does
            assert all(now[name] in (before[name], wanted) for name in RELEASES), (now, before)
            assert not list(place.rglob(".dbdeid-*"))
            new = sum(now[name] == wanted for name in RELEASES)
            counts["project", kind if run.code else "not killed", f"{new} of 3 new"] += 1
            if set(now.values()) == {wanted}:
                wanted = ks[wanted == ks[0]]
            before = now
    return counts


def main() -> int:
    """Kill, judge, and count."""
    ask = argparse.ArgumentParser()
    ask.add_argument("--kills", type=int, default=30)
    ask.add_argument("--seed", type=int, default=1)
    ask.add_argument("--only", nargs="*", default=[*METHODS, "project"])
    ask.add_argument("--log", type=Path)
    asked = ask.parse_args()
    total, wrong = Counter[tuple[str, str, str]](), 0
    for method in asked.only:
        folder, started = Path(tempfile.mkdtemp(prefix="kills")), time.monotonic()
        try:
            if method == "project":
                found = of_project(asked.kills, asked.seed, folder)
            else:
                found = of_method(method, asked.kills, asked.seed, folder)
        except Exception:
            wrong += 1
            print(f"{method}: seed {asked.seed}\n{traceback.format_exc()}")
            continue
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        total += found
        killed = sum(n for (_, kind, _), n in found.items() if kind != "not killed")
        print(f"{method:18}{killed:4} killed, {time.monotonic() - started:.0f} s", flush=True)
        if asked.log:
            with asked.log.open("a") as out:
                out.writelines(json.dumps([*key, n]) + "\n" for key, n in found.items())
    for (method, kind, outcome), n in sorted(total.items()):
        print(f"  {method:18}{kind:16}{outcome:14}{n:4}")
    killed = sum(n for (_, kind, _), n in total.items() if kind != "not killed")
    print(f"{killed} kills, {wrong} findings")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
