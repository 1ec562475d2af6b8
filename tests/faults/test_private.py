"""What is private is readable by its owner only, at every moment; what is public is not."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import pytest
from served import Server
from worlds import World

import dbdeid
from dbdeid.bind.read import read
from dbdeid.workspace.workplace import workplace


class Watch(threading.Thread):
    """Looks at every file of some folders, again and again, and keeps the modes it saw."""

    def __init__(self, *folders: Path) -> None:
        super().__init__()
        self.folders, self.seen, self.ended = folders, set[tuple[str, int]](), threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.0002):  # or it would take the core from what it watches
            for folder in self.folders:
                for entry in os.scandir(folder):
                    try:
                        mode = stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode)
                    except FileNotFoundError:
                        continue
                    name = ".dbdeid" if entry.name.startswith(".dbdeid-") else entry.name
                    self.seen.add((name, mode))

    def __enter__(self) -> Watch:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.join()


def test_modes_at_every_moment(tmp_path: Path) -> None:
    world = World.make(tmp_path / "world", "small", "target")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with Server(tmp_path / "told") as server, Watch(world.folder, temporary) as watch:
        for k in (5, 10):
            place = {"TMPDIR": str(temporary)}
            assert server.run(world.folder, "run", f"k{k}.yml", environment=place).code == 0
    private = {(n, mode) for n, mode in watch.seen if ".private." in n or n == ".dbdeid"}
    assert {name for name, _ in private} == {
        ".dbdeid",
        "out.private.duckdb",
        "out.private.duckdb.wal",
    }
    assert {mode for name, mode in private if name == ".dbdeid"} == {0o700}
    assert {mode for name, mode in private if name != ".dbdeid"} == {0o600}
    public = {(n, mode) for n, mode in watch.seen if n.startswith("out") and ".private." not in n}
    assert {mode for _, mode in public} == {0o644}
    assert {name for name, _ in public} == {n for n in world.names if n.startswith("out")} - {
        "out.private.duckdb"
    }
    assert not list(temporary.iterdir())


@pytest.mark.full
def test_a_log_that_a_kill_leaves_is_private(tmp_path: Path) -> None:
    world = World.make(tmp_path / "world", "small", "target")
    log = world.folder / "out.private.duckdb.wal"
    with Server(tmp_path / "told") as server:
        assert server.run(world.folder, "run", "k5.yml").code == 0
        moment = {"step": 1, "of": "os.rename"}  # right after the commit
        assert server.run(world.folder, "run", "k10.yml", moment=moment).code == -signal.SIGKILL
        assert stat.S_IMODE(log.stat().st_mode) == 0o600
        assert world.judge() == 10
        assert server.run(world.folder, "run", "k5.yml").code == 0
    assert not log.exists()


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """A table that does not fit into the memory that its run gets."""
    folder = tmp_path / "wide"
    folder.mkdir()
    with duckdb.connect(str(folder / "owner.duckdb")) as con:
        con.execute(
            "CREATE TABLE wide AS SELECT i % 89 AS age, md5((i % 7)::VARCHAR) AS kind, "
            "md5(i::VARCHAR) || md5((-i)::VARCHAR) AS note FROM range(800000) AS r(i)"
        )
    spec = {
        "release": "released",
        "database": "owner.duckdb",
        "target": "out.duckdb",
        "source": "wide",
        "columns": {
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [10, 20]}},
            "kind": {"role": "quasi_identifier", "hierarchy": "suppress"},
            "note": {"role": "insensitive", "reason": "made up"},
        },
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "method": "full_domain",
    }
    (folder / "wide.yml").write_text(json.dumps(spec))
    return folder


@pytest.mark.sampled(4)
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("beside", [True, False])
def test_what_does_not_fit_is_spilled_in_private_and_removed(
    wide: Path, tmp_path: Path, ending: int, beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    place = wide
    if not beside:
        place = tmp_path / "temporary"
        place.mkdir()
        monkeypatch.setenv("TMPDIR", str(place))
        monkeypatch.setattr("tempfile.tempdir", str(place))
    before = {p.name for p in wide.iterdir()}
    with subprocess.Popen(
        [sys.executable, "-m", "dbdeid", "run", "wide.yml", "--memory-limit", "60MB"],
        cwd=wide,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as run:
        while not (spilled := [p for p in place.glob(".dbdeid-*/spill/*") if p.stat().st_size]):
            assert run.poll() is None, "ended without spilling"
            time.sleep(0.01)
        assert all(stat.S_IMODE(p.parents[1].stat().st_mode) == 0o700 for p in spilled)
        run.send_signal(ending)
        _, err = run.communicate()
    if ending == signal.SIGKILL:
        assert list(place.glob(".dbdeid-*/spill/*"))
        with workplace(read(wide / "wide.yml"), writing=False):
            pass
    else:
        assert run.returncode == 130
        assert re.fullmatch(rb"It was interrupted here: .*\ninterrupted\n", err)
    assert not list(place.glob(".dbdeid-*"))
    assert {p.name for p in wide.iterdir()} == before


@pytest.mark.full
def test_the_settings_of_the_caller_are_left_alone(tmp_path: Path) -> None:
    world = World.make(tmp_path / "world", "small", "target")
    query = "SELECT name, value FROM duckdb_settings() ORDER BY ALL"
    with duckdb.connect(str(world.folder / "owner.duckdb")) as con:
        before = con.execute(query).fetchall()
        dbdeid.run(world.folder / "k5.yml", con)
        dbdeid.verify(world.folder / "k5.yml", con)
        assert con.execute(query).fetchall() == before
    assert {p.name for p in world.folder.iterdir()} == world.names
