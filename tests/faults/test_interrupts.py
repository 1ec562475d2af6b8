"""Ctrl-C at any moment ends with 130, quietly, and leaves no trace."""

from __future__ import annotations

import random
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from worlds import Server, World


def test_an_interrupt_leaves_no_trace(tmp_path: Path) -> None:
    draw = random.Random(1)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    for layout in ("target", "inside"):
        world = World.make(tmp_path / layout, "small", layout)
        place = {"TMPDIR": str(temporary)}
        with Server(tmp_path / "told") as server:
            server.run(world.folder, "run", "k5.yml", environment=place)
            seconds = server.run(world.folder, "run", "k5.yml", environment=place).seconds
            assert world.judge(finished=True) == 5
            before = {p.name: p.read_bytes() for p in world.folder.iterdir()}
            for number in range(12):
                after = seconds * (number + draw.random()) / 12
                ended = server.run(
                    world.folder,
                    "run",
                    "k10.yml",
                    after=after,
                    number=signal.SIGINT,
                    environment=place,
                )
                assert not list(temporary.iterdir())
                now = {p.name: p.read_bytes() for p in world.folder.iterdir()}
                if now == before:
                    assert (ended.code, ended.out) == (130, "")
                    assert ended.err in ("", "interrupted\n")  # before, and while it works
                else:  # too late: it was booked, and is whole
                    assert ended.code in (0, 130)
                    assert world.judge(finished=True) == 10
                    assert server.run(world.folder, "run", "k5.yml", environment=place).code == 0
                    before = {p.name: p.read_bytes() for p in world.folder.iterdir()}


def test_an_interrupt_waits_for_the_files_once_the_run_is_booked(tmp_path: Path) -> None:
    world = World.make(tmp_path / "world", "small", "target")
    with Server(tmp_path / "told") as server:
        assert server.run(world.folder, "run", "k5.yml").code == 0
        for after in (0.0, 0.002, 0.004, 0.008):
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
