"""Too little memory, files without an end, and files made to break their reader: all are told."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbdeid.engine import apart
from dbdeid.engine.duckdb.failure import no_cells
from dbdeid.errors import DataError, exhausted

MB = 2**20


def call(
    folder: Path,
    *words: str | Path,
    before: Callable[[], None] | None = None,
    limits: str = "",
) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own; `limits` are statements on `apart`."""
    code = (
        f"import sys; from dbdeid.engine import apart; {limits}\nfrom dbdeid.__main__ import main"
    )
    return subprocess.run(
        [sys.executable, "-c", f"{code}; sys.argv[0] = 'dbdeid'; main()", *map(str, words)],
        cwd=folder,
        preexec_fn=before,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


def addresses(size: int) -> Callable[[], None]:
    """As `ulimit -v` limits them."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (size * MB, size * MB))


@cache
def _sample() -> str:
    query = "SELECT i % 7 AS age, 'w' || i % 3 AS ward FROM range(5000) AS r(i) ORDER BY ALL"
    return query


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An owner's database with a spec and a file of others."""
    with duckdb.connect(tmp_path / "owner.duckdb") as con:
        con.execute(f"CREATE TABLE visits AS {_sample()}")
        con.execute(f"COPY visits TO '{tmp_path / 'theirs.parquet'}'")
    (tmp_path / "spec.yml").write_text(
        "release: public\nsource: visits\ndatabase: owner.duckdb\ncolumns:\n"
        "  age: {role: insensitive, reason: made up}\n"
        "  ward: {role: quasi_identifier, type: categorical, hierarchy: suppress}\n"
        "privacy: [{model: k_anonymity, k: 5}]\n"
        "method: {name: full_domain, suppression_limit: 0.05}\n"
    )
    return tmp_path


@pytest.mark.sampled(9)
@pytest.mark.parametrize("size", [110, 150, 460, 550, 800])
@pytest.mark.parametrize("words", ["verify theirs.parquet --qi age --k 5", "run spec.yml"])
def test_too_little_memory_is_told(place: Path, size: int, words: str) -> None:
    before = (place / "owner.duckdb").read_bytes()
    ended = call(place, *words.split(), before=addresses(size))
    assert ended.returncode in (0, 2), ended.stderr
    assert "defect" not in ended.stderr
    assert "Traceback" not in ended.stderr
    assert size > 150 or ended.returncode
    if ended.returncode:
        assert "error: " in ended.stderr
        assert "not enough memory (" in ended.stderr or "not enough threads (" in ended.stderr
        if words.startswith("run"):
            assert (place / "owner.duckdb").read_bytes() == before
    if "nothing half-done is kept" in ended.stderr:
        assert not list(place.glob(".dbdeid-*"))
    assert "ended" not in ended.stderr or "removes folders named .dbdeid-" in ended.stderr
    call(place, *words.split())
    assert not list(place.glob(".dbdeid-*"))


def test_a_small_limit_of_the_engine_is_told(place: Path) -> None:
    words = "risk", "theirs.parquet", "--qi", "age", "--memory-limit", "1MB"
    ended = call(place, *words)
    assert ended.returncode == 2
    assert "not enough memory (" in ended.stderr
    assert "--memory-limit" in ended.stderr


def _raised(error: BaseException) -> BaseException:
    """An error behind another one, as they come."""
    try:
        try:
            raise error
        except BaseException:
            raise ValueError("numpy could not be imported") from None
    except ValueError as last:
        return last


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError(), "memory (MemoryError)"),
        (ImportError("libarrow.so: failed to map segment from shared object"), "memory (failed"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "memory (Cannot"),
        (RuntimeError("can't start new thread"), "threads ("),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "threads ("),
        (OSError(errno.EMFILE, "Too many open files", "x"), "open files ("),
        (OSError(errno.ENOSPC, "No space left on device", "x"), "room on the disk ("),
        (RuntimeError("IOError: No space left on device Jane Roe"), "room on the disk (no space"),
    ],
)
def test_what_there_is_not_enough_of(error: BaseException, told: str) -> None:
    for one in (error, _raised(error)):
        found = exhausted(one)
        assert found is not None
        assert str(found).startswith(f"not enough {told}")
        assert "Jane" not in str(found)
    assert exhausted(_raised(KeyError("x"))) is None


def test_an_extension_that_fails_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = SystemError("error return without exception set")
    for allowed, starved in ((150 * MB, True), (8192 * MB, False), (resource.RLIM_INFINITY, False)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, most=allowed: (most, most))
        assert (exhausted(silent) is not None) == starved


def test_without_memory_for_words_a_command_still_ends_as_one(place: Path) -> None:
    fails = "import dbdeid.cli.app as a; a.main = lambda: bytearray(2**62)"
    ended = call(place, "run", "spec.yml", limits=fails)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: not enough memory (MemoryError)")


def test_memory_of_the_engine_behind_an_error_of_ours() -> None:
    with pytest.raises(DataError) as refused:  # noqa: PT012
        try:
            with no_cells():
                raise duckdb.OutOfMemoryException("Out of Memory Error: of Jane Roe")
        except Exception:
            raise DataError("cannot be read as Parquet") from None
    found = exhausted(refused.value)
    assert found is not None
    assert "Jane" not in str(found)
    assert exhausted(DataError("out of memory")) is None


# -- files that are none -------------------------------------------------------------------

CASES = {
    "hierarchy": ("check", "spec.yml"),
    "spec": ("check", "zero.yml"),
    "pipe": ("check", "pipe.yml"),
    "script": ("sql", ":memory:", "/dev/zero"),
    "pipe of a script": ("sql", ":memory:", "pipe.yml"),
    "question": ("query", "spec.yml", "zero.sql"),
    "database": ("sql", "pipe.yml", "-c", "SELECT 1"),
    "bare": ("verify", "zero.csv", "--qi", "age", "--k", "2"),
    "risk": ("risk", "zero.csv", "--qi", "age"),
}


@pytest.mark.full
@pytest.mark.parametrize("case", CASES)
def test_only_regular_files_are_read(place: Path, case: str) -> None:
    for name in ("zero.yml", "zero.sql", "zero.csv"):
        (place / name).symlink_to("/dev/zero")
    os.mkfifo(place / "pipe.yml")
    if case == "hierarchy":
        spec = (place / "spec.yml").read_text().replace("suppress}", "zero.csv}")
        (place / "spec.yml").write_text(spec)
    ended = call(place, *CASES[case], before=addresses(3000))
    assert ended.returncode == 2, ended.stderr
    assert "regular file" in ended.stderr


# -- files made to break their reader ------------------------------------------------------

ENDLESS = {
    "recursion": "WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT a FROM t) FROM t",
    "product": "SELECT r.i + s.j AS a FROM range(10000000000) AS r(i), range(1000000000) AS s(j)",
}


@pytest.mark.full
@pytest.mark.parametrize("view", ENDLESS)
def test_a_view_without_an_end(tmp_path: Path, view: str) -> None:
    with duckdb.connect(tmp_path / "theirs.duckdb") as con:
        con.execute(f"CREATE VIEW v AS {ENDLESS[view]}")
    few = (
        "apart._SECONDS = 2; apart._SECONDS_PER_MB = 0; apart._LIBRARIES = 2**31; apart._SHARE = 0"
    )
    ended = call(tmp_path, "risk", "theirs.duckdb", "v", "--qi", "a", limits=few)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.startswith("error: ")
    assert "2 seconds of computing" in ended.stderr or "not enough memory (" in ended.stderr


def test_a_view_of_a_file_of_others_reaches_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n7\n")
    with duckdb.connect(tmp_path / "theirs.duckdb") as con:
        con.execute(f"CREATE VIEW v AS FROM read_csv('{tmp_path / 'secret.csv'}')")
    ended = call(tmp_path, "risk", "theirs.duckdb", "v", "--qi", "a")
    assert ended.returncode == 2
    assert "Permission Error" in ended.stderr


@pytest.mark.full
def test_a_file_that_grows_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "theirs.parquet"
    row = "repeat('x', 100000) AS a"
    duckdb.sql(f"COPY (SELECT {row} FROM range(20000)) TO '{path}' (COMPRESSION zstd)")
    assert path.stat().st_size < MB
    few = "apart._LIBRARIES = 2**30; apart._SHARE = 0; apart._PER_THREAD = 0"
    words = "verify", path, "--qi", "a", "--k", "2"
    ended = call(tmp_path, *words, limits=few)
    assert ended.returncode in (0, 2), ended.stderr
    assert ended.returncode == 0 or "not enough memory (" in ended.stderr


@pytest.mark.full
def test_limits_grow_with_the_file_and_are_never_above_those_given(tmp_path: Path) -> None:
    small, large = tmp_path / "small.csv", tmp_path / "large.csv"
    small.write_text("a\n")
    with large.open("wb") as file:
        file.truncate(100 * 10**6)
    one, other = apart.Limits.of(small), apart.Limits.of(large)
    assert (one.seconds, other.seconds) == (300, 3300)
    assert one.memory == other.memory > 2**31
    shown = "import resource; from pathlib import Path; from dbdeid.engine import apart\n"
    shown += "apart._limit(apart.Limits(Path('x'), 10, 2**40, 2**30, Path()))\n"
    shown += "print([resource.getrlimit(k)[0] for k in (resource.RLIMIT_AS, resource.RLIMIT_CPU)])"
    command = [sys.executable, "-c", shown]
    told = subprocess.run(command, preexec_fn=addresses(900), capture_output=True, text=True)
    assert told.stdout.strip() == str([900 * MB, 10]), told.stderr


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_what_a_file_makes_its_reader_spill_is_bounded_and_gone_with_it(
    tmp_path: Path, end: str
) -> None:
    script = "import os, signal; from pathlib import Path; from dbdeid.engine import apart\n"
    script += f"place = Path({str(tmp_path)!r})\n"
    script += "limits = apart.Limits(place / 'x.csv', 60, 2**40, 3 * 2**30, place)\n"
    script += "try:\n    code = apart.forked(limits)\n"
    script += "except apart.DataError:\n    code = 2\n"
    script += "if code is None:\n"
    script += "    from dbdeid.engine.duckdb.session import Session\n"
    script += "    session = Session.open(None, read_only=False)\n"
    for name in ("max_temp_directory_size", "temp_directory"):
        script += f"    print(session.row(\"SELECT current_setting('{name}')\")[0], flush=True)\n"
    script += f"    {end}\n"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    size, folder = done.stdout.splitlines()
    assert size == "3.0 GiB"
    assert Path(folder).is_relative_to(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_process_in_which_others_work_is_not_forked() -> None:
    assert apart.forked(None) is None  # pytest has loaded the engine


def test_signals_reach_the_child(tmp_path: Path) -> None:
    script = "import signal, sys, time; from dbdeid.engine import apart\n"
    script += "def stop(*_): print('stopped', flush=True); sys.exit(7)\n"
    script += "signal.signal(signal.SIGTERM, stop)\ncode = apart.forked(None)\n"
    script += "if code is None: print('ready', flush=True); time.sleep(30)\nsys.exit(code)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.terminate()
        assert process.stdout.read() == b"stopped\n"
        assert process.wait() == 7


def test_the_child_ends_with_its_parent() -> None:
    script = "import os, time; from dbdeid.engine import apart\ncode = apart.forked(None)\n"
    script += "if code is None: print(os.getpid(), flush=True); time.sleep(30)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
        assert process.stdout.read() == b""  # it is closed when the last one has ended
    for _ in range(100):
        if "State:\tZ" in _status(child):
            return
        time.sleep(0.05)
    raise AssertionError(_status(child))


def _status(process: int) -> str:
    try:
        return Path(f"/proc/{process}/status").read_text()
    except OSError:
        return "State:\tZ"


def test_no_room_on_the_disk(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Files may grow no further, as on a disk that is full; compiled modules would be cut off, too.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    before: dict[str, Any] = {p.name: p.read_bytes() for p in place.iterdir() if p.is_file()}
    ended = call(place, "run", "spec.yml", before=full)
    assert ended.returncode == 2, ended.stderr
    assert "defect" not in ended.stderr
    left = {p.name: p.read_bytes() for p in place.iterdir() if p.is_file()}
    assert {name: left[name] for name in before if name != "owner.duckdb"} == {
        name: data for name, data in before.items() if name != "owner.duckdb"
    }
    with duckdb.connect(place / "owner.duckdb", read_only=True) as con:
        assert con.execute("SELECT count(*) FROM visits").fetchone() == (5000,)
    shutil.rmtree(place, ignore_errors=True)
