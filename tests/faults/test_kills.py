"""A run is killed at any moment: the old release stands or the new one, whole, never neither.

Every kill is a SIGKILL of a real process: after a random time, right before one of its steps in
the file system, or while it commits. What stands then is looked at by readers, which complete or
remove what was left, and the next kill starts from there. More kills, from other seeds:

    DBDEID_KILLS=10 DBDEID_KILLS_SEED=7 pytest -s --full tests/faults/test_kills.py
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tiers
from served import Server
from worlds import KS, World

TIMES = int(os.environ.get("DBDEID_KILLS", "1"))
SEED = int(os.environ.get("DBDEID_KILLS_SEED", "1"))

Moment = tuple[str, float | None, dict[str, Any]]  # its kind, seconds, what the process is told
counts: Counter[tuple[str, str]] = Counter()
counting = threading.Lock()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("told") / "told") as running:
        yield running


@pytest.fixture(scope="module", autouse=True)
def told(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        killed = sum(n for (kind, _), n in counts.items() if kind != "not killed")
        lines = [f"  {kind:<22} {outcome:<32} {n}" for (kind, outcome), n in sorted(counts.items())]
        print(f"\n{killed} kills (seed {SEED})", *lines, sep="\n")


def other(k: int | None) -> int:
    return KS[0] if k != KS[0] else KS[1]


def kill(server: Server, world: World, moment: Moment, standing: int | None) -> int | None:
    """Kill the run that would replace what stands, and give what stands then."""
    kind, after, more = moment
    wanted = other(standing)
    ended = server.run(world.folder, "run", f"k{wanted}.yml", after=after, moment=more)
    assert ended.code in (-signal.SIGKILL, 0), ended
    assert ended.err == ""
    waiting = world.waiting()
    left = any(p.name.startswith(".dbdeid-") for p in world.folder.iterdir())
    found = world.judge(finished=ended.code == 0)
    assert found in (standing, wanted)
    if waiting:
        assert found == wanted
    if ended.code == 0:
        assert (found, waiting, left) == (wanted, 0, False)
        kind = "not killed"
    outcome = "old" if found == standing else "new"
    if waiting:
        outcome = f"new, {waiting} files yet to be renamed"
    elif left:
        outcome += ", something to remove"
    with counting:
        counts[kind, outcome] += 1
    return found


def moments(
    draw: random.Random, seconds: float, steps: int, *, many: int, all_: bool
) -> list[Moment]:
    found: list[Moment] = [
        ("random time", draw.uniform(0, seconds), {}) for _ in range(many * TIMES)
    ]
    found += [
        ("at the commit", draw.uniform(0, 0.012), {"commit": True})
        for _ in range(many // 2 * TIMES)
    ]
    numbers = range(1, steps + 1) if all_ else draw.choices(range(1, steps + 1), k=many // 2)
    found += [("step of the run", None, {"step": n}) for n in numbers]
    draw.shuffle(found)
    return found


WORLDS = [
    ("large", "target", 2),
    ("large", "inside", 1),
    ("small", "target", 2),
    ("small", "inside", 2),
]


@pytest.mark.full
def test_the_old_release_stands_or_the_new_one(tmp_path: Path) -> None:
    """Two worlds at a time, for there are two processors."""

    def survived(size: str, layout: str, many: int) -> None:
        folder = tmp_path / f"{size} {layout}"
        folder.mkdir()
        with Server(folder / "told") as server:
            survive(size, layout, many, server, folder)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(survived, *world) for world in WORLDS]:
            done.result()


def survive(size: str, layout: str, many: int, server: Server, folder: Path) -> None:
    """Kill runs of one size and layout, one after the other, and look at what stands."""
    draw = random.Random(f"{SEED}{size}{layout}")
    world = World.make(folder / "world", size, layout)
    server.run(world.folder, "run", "k5.yml")
    ended = server.run(world.folder, "run", "k10.yml", moment={"step": 0})
    standing = world.judge(finished=True)
    assert (ended.code, standing) == (0, 10)
    inside = (size, layout) == ("small", "inside")
    planned = moments(draw, ended.seconds, ended.steps, many=many, all_=inside)
    files = world.names - {"owner.duckdb", "out.private.duckdb", "k5.yml", "k10.yml"}
    renames = len(files) if size == "small" else 1
    for n in range(1, renames + 1):
        planned.append(("between renames", None, {"step": n, "of": "os.rename"}))
    for moment in planned:
        standing = kill(server, world, moment, standing)
    last = server.run(world.folder, "run", f"k{other(standing)}.yml")
    assert last.code == 0, last.err
    assert world.judge(finished=True) == other(standing)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("layout", ["target", "inside"])
def test_the_first_release_is_there_or_nothing_is(
    layout: str, server: Server, tmp_path: Path
) -> None:
    draw = random.Random(f"{SEED}{layout}")
    planned: list[Moment] = [("first run", None, {"step": 1, "of": "os.rename"})]
    planned += [("first run", draw.uniform(0, 0.01), {"commit": True})]
    if tiers.full:
        made = World.make(tmp_path / "once", "small", layout)
        ended = server.run(made.folder, "run", "k5.yml", moment={"step": 0})
        planned += [("first run", None, {"step": 2, "of": "os.rename"})]
        planned += [("first run", draw.uniform(0, 0.01), {"commit": True})]
        planned += [("first run", None, {"step": draw.randint(1, ended.steps)}) for _ in range(3)]
        if layout == "target":
            planned += [("first run", None, {"step": 1, "of": "os.link"})]
    for number, moment in enumerate(planned):
        world = World.make(tmp_path / str(number), "small", layout)
        kill(server, world, moment, None)


def test_what_stands_outlives_a_kill(server: Server, tmp_path: Path) -> None:
    """One of the kills above, in the default tier too: some files are in their places, some not,
    and of a folder the old one is gone and the new one not there."""
    world = World.make(tmp_path / "world", "small", "target")
    assert server.run(world.folder, "run", "k5.yml").code == 0
    assert kill(server, world, ("between renames", None, {"step": 3, "of": "os.rename"}), 5) == 10


@pytest.mark.full
def test_a_process_that_is_killed_while_it_loads_and_works(tmp_path: Path) -> None:
    draw = random.Random(SEED)
    world = World.make(tmp_path / "world", "small", "inside")
    command = [sys.executable, "-m", "dbdeid", "run"]
    started = time.monotonic()
    subprocess.run([*command, "k5.yml"], cwd=world.folder, check=True, capture_output=True)
    seconds = time.monotonic() - started
    standing = world.judge(finished=True)
    for _ in tiers.some(range(3 * TIMES), 3):
        wanted = other(standing)
        with subprocess.Popen(
            [*command, f"k{wanted}.yml"],
            cwd=world.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as run:
            time.sleep(draw.uniform(0.3, seconds))
            run.kill()
            _, err = run.communicate()
        assert err == b""
        found = world.judge(finished=run.returncode == 0)
        counts["the command itself", "old" if found == standing else "new"] += 1
        standing = found
