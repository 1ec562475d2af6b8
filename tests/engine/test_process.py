"""What a process may use of its machine."""

import os
from pathlib import Path

import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.process import memory
from dbdeid.engine.session import Settings

PHYSICAL = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _member(folder: Path, of: str) -> Path:
    path = folder / "member"
    path.write_text(f"0::{of}\n")
    return path


def test_without_a_limit_the_memory_is_that_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("max\n")
    assert memory(tmp_path, _member(tmp_path, "/")) == PHYSICAL
    assert memory(tmp_path / "none", tmp_path / "none") == PHYSICAL


def test_the_least_limit_of_all_groups_around_a_process_counts(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "outer" / "memory.max").write_text("300000000\n")
    (inner / "memory.max").write_text("max\n")
    assert memory(tmp_path, _member(tmp_path, "/outer/inner")) == 300_000_000
    (inner / "memory.max").write_text("200000000\n")
    assert memory(tmp_path, _member(tmp_path, "/outer/inner")) == 200_000_000


def test_the_limit_of_an_older_system_counts(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("400000000\n")
    assert memory(tmp_path, tmp_path / "none") == 400_000_000


def test_a_group_of_an_older_system_counts(tmp_path: Path) -> None:
    inner = tmp_path / "memory" / "jobs" / "one"
    inner.mkdir(parents=True)
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    (inner.parent / "memory.limit_in_bytes").write_text("400000000\n")
    member = tmp_path / "member"
    member.write_text("12:memory:/jobs/one\n1:name=systemd:/else\n0::/else\n")
    assert memory(tmp_path, member) == 400_000_000


@pytest.mark.parametrize("name", [b"caf\xe9.slice", b"a::", b"trailing "])
def test_the_name_of_a_group_may_be_odd(tmp_path: Path, name: bytes) -> None:
    group = tmp_path / os.fsdecode(name)
    group.mkdir()
    (group / "memory.max").write_text("500000000\n")
    member = tmp_path / "member"
    member.write_bytes(b"0::/" + name + b"\n")
    assert memory(tmp_path, member) == 500_000_000


@pytest.mark.parametrize("limit", ["0", "-1", "", "none"])
def test_what_is_no_size_is_no_limit(tmp_path: Path, limit: str) -> None:
    (tmp_path / "memory.max").write_text(limit)
    assert memory(tmp_path, _member(tmp_path, "/")) == PHYSICAL


@pytest.mark.parametrize("given", [None, "300MB"])
def test_the_engine_leaves_half_of_the_memory_unless_told(given: str | None) -> None:
    session = Session.open(None, read_only=False, settings=Settings(memory_limit=given))
    try:
        text = session.row("SELECT current_setting('memory_limit')")[0]
    finally:
        session.close()
    number, unit = text.split()
    size = float(number) * 1024 ** (["bytes", "KiB", "MiB", "GiB", "TiB"].index(unit))
    expected = 300e6 if given else (memory() or 0) / 2
    assert size == pytest.approx(expected, rel=0.01)
