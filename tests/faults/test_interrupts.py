"""Ctrl-C at any moment ends with 130, quietly, and leaves no trace."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tiers
from served import Server
from worlds import World

from dbdeid.commands.verify_evaluate_export import verify
from dbdeid.engine.regular import digest

WORKING = r"It was interrupted here: .*\ninterrupted\n"
SEARCHING = r"Interrupted after .* checks?\. Best .*\n  transformation: \{.*\}\ninterrupted\n"
COMMAND = [sys.executable, "-m", "dbdeid", "run"]


def interrupt(world: World, k: int, after: float, place: dict[str, str]) -> tuple[int, str, str]:
    """Interrupt the command itself, which first loads, after some seconds."""
    with subprocess.Popen(
        [*COMMAND, f"k{k}.yml"],
        cwd=world.folder,
        env={**os.environ, **place},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A job in the background of a shell inherits a deaf ear.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as run:
        _wait_until_it_listens(run)
        time.sleep(after)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate()
    return run.returncode, out, err


def _wait_until_it_listens(run: subprocess.Popen[str]) -> None:
    """Python itself starts first, and ends on Ctrl-C as it likes; then our libraries load."""
    maps = Path(f"/proc/{run.pid}/maps")
    while run.poll() is None and "duckdb" not in maps.read_text():
        time.sleep(0.005)


@pytest.mark.sampled(2)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("layout", ["target", "inside"])
def test_an_interrupt_leaves_no_trace(layout: str, tmp_path: Path) -> None:
    draw = random.Random(layout)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    place = {"TMPDIR": str(temporary)}
    world = World.make(tmp_path / "world", "small", layout)
    started = time.monotonic()
    subprocess.run([*COMMAND, "k5.yml"], cwd=world.folder, check=True, capture_output=True)
    seconds = time.monotonic() - started
    assert world.judge(finished=True) == 5
    before = {p.name: digest(p) for p in world.folder.iterdir()}
    for number in tiers.some((2, 0, 1, 3), 4):
        after = 0.7 * seconds * (number + draw.random()) / 4  # the rest is starting
        code, out, err = interrupt(world, 10, after, place)
        assert not list(temporary.iterdir())
        if {p.name: digest(p) for p in world.folder.iterdir()} == before:
            assert (code, out) == (130, ""), err
            # while it loads, while it works, and while it searches
            told = re.fullmatch(SEARCHING, err) or re.fullmatch(WORKING, err)
            assert err in ("", "interrupted\n") or told, err
        else:  # too late: it was booked, and is whole
            assert (code, err) in ((0, ""), (130, ""), (130, "interrupted\n"))
            assert world.judge(finished=True) == 10
            subprocess.run([*COMMAND, "k5.yml"], cwd=world.folder, check=True, capture_output=True)
            before = {p.name: digest(p) for p in world.folder.iterdir()}


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_interrupt_of_synthesis_leaves_no_trace(tmp_path: Path) -> None:
    world = World.make(tmp_path / "world", "small", "target")
    roles = {"name": "drop", "zip": "drop", "age, sex, illness": "synthesize"}
    for k in (5, 10):
        made = world.spec(k) | {"columns": roles, "method": "condensation", "seed": k}
        made["privacy"] = [{"model": "cluster_size", "k": k * 10}]
        made["output"] = {"export": ["out.csv"]}
        (world.folder / f"k{k}.yml").write_text(json.dumps(made))
    (tmp_path / "temporary").mkdir()
    place = {"TMPDIR": str(tmp_path / "temporary")}
    started = time.monotonic()
    subprocess.run([*COMMAND, "k5.yml"], cwd=world.folder, check=True, capture_output=True)
    seconds = time.monotonic() - started
    before = {p.name: digest(p) for p in world.folder.iterdir()}
    for part in (0.3, 0.5, 0.6):
        code, _, err = interrupt(world, 10, part * seconds, place)
        assert "Traceback" not in err
        assert not list((tmp_path / "temporary").iterdir())
        found = {p.name: digest(p) for p in world.folder.iterdir()}
        assert found.keys() == before.keys()
        if found == before:
            assert code == 130, err
            assert verify(world.folder / "k5.yml").verified
        else:  # too late: it was booked, and is whole
            assert verify(world.folder / "k10.yml").verified
            break


@pytest.mark.full
def test_an_interrupt_waits_for_the_files_once_the_run_is_booked(tmp_path: Path) -> None:
    world = World.make(tmp_path / "world", "small", "target")
    with Server(tmp_path / "told") as server:
        assert server.run(world.folder, "run", "k5.yml").code == 0
        for after in (0.0, 0.003, 0.006):
            ended = server.run(
                world.folder,
                "run",
                "k10.yml",
                after=after,
                number=signal.SIGINT,
                moment={"commit": True},
            )
            assert ended.code in (0, 130)
            assert "Traceback" not in ended.err
            assert world.waiting() == 0
            assert world.judge(finished=True) == 10
            assert server.run(world.folder, "run", "k5.yml").code == 0
