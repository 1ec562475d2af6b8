"""Places that refuse: a disk that is full, and files that another user may not touch."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bad_input.place import GONE, PEOPLE, build, tree, written
from bad_input.runner import CANARIES, INTERNALS

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a disk")


# root without the right to read and write what it likes
LIKE_OTHERS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


def call(*words: str, cwd: Path, like_others: bool = False) -> subprocess.CompletedProcess[str]:
    before = LIKE_OTHERS if like_others and os.geteuid() == 0 else ()
    done = subprocess.run(
        [*before, sys.executable, "-m", "dbdeid", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
    )
    told = done.stdout + done.stderr
    assert INTERNALS.search(done.stderr) is None, done.stderr
    assert not any(canary in told for canary in CANARIES), told
    return done


def fill(path: Path) -> None:
    """Fill the disk of a file to the last block."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    with path.open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(64))


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 kB that is full."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("this machine lets nobody mount a disk")
    try:
        fill(disk / "filling")
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.full
@root
@pytest.mark.parametrize(
    ("words", "before"),
    [
        (("run", "spec.yml"), {"target": "disk/out.duckdb"}),
        (("run", "spec.yml"), {"output": {"export": ["disk/out.csv"]}}),
        (("run", "spec.yml"), {"output": {"export": ["disk/out.parquet"]}}),
        (("run", "spec.yml"), {"output": {"export": ["disk/out.duckdb"]}}),
        (("export", "made.yml", "disk/out.csv"), {}),
        (("export", "made.yml", "disk/out.duckdb"), {}),
        (("report", "made.yml", "-o", "disk/page.html"), {}),
        (("demo", "disk/demo"), {}),
        (("macros", "install", "disk/owner.duckdb"), {}),
    ],
    ids=str,
)
def test_a_full_disk(
    words: tuple[str, ...], before: dict[str, Any], full: Path, template: Path, counted: Any
) -> None:
    home = full.parent / "home"
    made = written({"target": "made.duckdb", "evaluate": {"metrics": []}})
    build(home, template, before, "", {"made.yml": made})
    (home / "disk").symlink_to(full)
    if "made.yml" in words:
        assert call("run", "made.yml", "-q", cwd=home).returncode == 0
    if words[0] == "macros":
        (home / "disk").unlink()
        shutil.rmtree(home)
        subprocess.run(["mount", "-o", "remount,size=1m", str(full)], check=True)
        (full / "filling").unlink()
        build(full / "place", template, None, "", {})
        os.rename(full / "place" / "owner.duckdb", full / "owner.duckdb")
        fill(full / "filling")
        home = full.parent
    found = tree(home)
    done = call(*words, cwd=home)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Hint: " in done.stderr
    # the log of a database is a part of it
    assert {name for name in tree(home) if not name.endswith(".wal")} == found.keys()
    if words[0] == "demo":  # what was written is whole, for the next demo keeps it
        assert all(p.is_dir() or p.stat().st_size for p in full.rglob("*"))
    elif words[0] != "macros":
        assert {p.name for p in full.iterdir()} == {"filling"}
    counted("places", str(words))


MODES = {
    "a database without rights": ("owner.duckdb", 0o000, {}, "owner.duckdb"),
    "a spec without rights": ("spec.yml", 0o000, {}, "spec.yml"),
    "a hierarchy without rights": (
        "sex.csv",
        0o000,
        {"columns/sex/hierarchy": "sex.csv"},
        "sex.csv",
    ),
    "a query without rights": ("q.sql", 0o000, {"evaluate": {"queries": "*.sql"}}, "q.sql"),
    "a folder that is only read": (".", 0o555, {}, "home cannot be written"),
    "a database that is only read": ("owner.duckdb", 0o444, {"target": GONE}, "owner.duckdb"),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("what", MODES)
def test_what_somebody_else_may_not_do(
    what: str, tmp_path: Path, template: Path, counted: Any
) -> None:
    name, mode, changes, said = MODES[what]
    home = tmp_path / "home"
    if os.geteuid() == 0 and shutil.which(LIKE_OTHERS[0]) is None:
        pytest.skip("root cannot lay its rights down here")
    build(home, template, changes, "", {"sex.csv": "f;*\nm;*\n", "q.sql": "SELECT 1"})
    before = tree(home)
    (home / name).chmod(mode)
    try:
        done = call("run", "spec.yml", cwd=home, like_others=True)
        assert done.returncode == 2, done.stdout + done.stderr
        assert said in done.stderr
        assert "Hint: " in done.stderr or "Try " in done.stderr
    finally:
        (home / name).chmod(0o755 if name == "." else 0o644)
    assert {k: v.split()[-1] for k, v in tree(home).items()} == {
        k: v.split()[-1] for k, v in before.items()
    }
    counted("places", what)


def test_the_template_holds_canaries_in_every_withheld_column() -> None:
    assert all(canary in PEOPLE for canary in CANARIES)
