"""Ctrl-C while a search runs: the best found so far is offered, and nothing happens unasked."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import signal
import subprocess
import sys
from math import inf
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbdeid
from dbdeid.cli.command import Follower, Options, following
from dbdeid.workspace.progress import BestSoFar, Progress

COLUMNS = 8
# Independent columns under t-closeness: thousands of checks after the first that satisfies.
SOURCE = f"""
CREATE TABLE source AS
SELECT
  {", ".join(f"(hash(i, {c}) % 60)::INTEGER AS q{c}" for c in range(COLUMNS))},
  (hash(i, 'ill') % 6)::INTEGER AS ill
FROM range(20000) AS r(i)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("owner.duckdb") as con:
        con.execute(SOURCE)
    return tmp_path


def write(engine: str, **method: Any) -> None:
    hierarchy = {"role": "quasi_identifier", "hierarchy": {"intervals": [2, 4, 16, 64]}}
    spec = {
        "release": "released",
        "database": "owner.duckdb",
        "target": "released.duckdb",
        "source": "source",
        "columns": {**{f"q{c}": hierarchy for c in range(COLUMNS)}, "ill": "sensitive"},
        "privacy": [
            {"model": "k_anonymity", "k": 5},
            {"model": "t_closeness", "column": "ill", "t": 0.3},
        ],
        "evaluate": {"metrics": []},
        "method": {
            "name": "full_domain",
            "suppression_limit": 0.05,
            "engine": engine,
            **method,
        },
    }
    Path("spec.yml").write_text(json.dumps(spec))


def prints() -> dict[str, bytes]:
    return {p.name: hashlib.sha256(p.read_bytes()).digest() for p in Path().iterdir()}


def started(*words: str, **given: Any) -> subprocess.Popen[Any]:
    return subprocess.Popen(
        [sys.executable, "-m", "dbdeid", *words],
        stdout=subprocess.PIPE,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
        # A job in the background of a shell inherits a deaf ear.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        **given,
    )


class Terminal:
    """A command at a terminal, and what it says there."""

    def __init__(self, *words: str) -> None:
        self._ours, theirs = pty.openpty()
        self.run = started(*words, stdin=theirs, stderr=theirs)
        os.close(theirs)
        self.said = ""

    def wait_for(self, words: str) -> None:
        before = len(self.said)
        while words not in self.said[before:]:
            try:
                self.said += os.read(self._ours, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(f"it ended before it said {words!r}: {self.said}") from None

    def interrupt(self) -> None:
        self.run.send_signal(signal.SIGINT)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self) -> tuple[int, str]:
        """The exit code and the standard output, after all that is said was read."""
        while True:
            try:
                self.said += os.read(self._ours, 65536).decode(errors="replace")
            except OSError:
                break
        out, _ = self.run.communicate(timeout=60)
        os.close(self._ours)
        return self.run.returncode, out.decode()


@pytest.mark.full
@pytest.mark.parametrize("engine", ["numpy", "sql"])
def test_without_a_terminal_the_best_so_far_is_told_for_the_spec(place: Path, engine: str) -> None:
    write(engine)
    before = prints()
    with started("run", "spec.yml", "-v", stderr=subprocess.PIPE, text=True) as run:
        for line in run.stderr:
            if "best so far 0." in line:
                break
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    assert (run.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "interrupted"
    assert prints() == before
    (told,) = [line for line in err.splitlines() if line.startswith("  transformation: ")]
    assert "Best so far: loss 0." in err
    node = dict(pair.split(": ") for pair in told.partition("{")[2].rstrip("}").split(", "))
    write(engine, transformation={name: int(level) for name, level in node.items()})
    made = dbdeid.run("spec.yml")
    assert made.verified
    assert {name: str(level) for name, level in made.transformation.items()} == node


@pytest.mark.full
@pytest.mark.parametrize("engine", ["numpy", "sql"])
def test_at_a_terminal_the_best_so_far_is_released_on_yes(place: Path, engine: str) -> None:
    write(engine)
    terminal = Terminal("run", "spec.yml", "--json")
    terminal.wait_for("best so far 0.")
    terminal.interrupt()
    terminal.wait_for("Release it? [y/N]")
    assert not Path("released.duckdb").exists()
    terminal.type("y\n")
    code, out = terminal.end()
    assert code == 0, terminal.said
    assert out.startswith("{")
    found = json.loads(out)
    assert found["verified"]
    assert found["search"]["interrupted"]
    assert not found["search"]["proven_optimal"]
    assert 0 < found["search"]["gap"] <= 1
    assert dbdeid.verify("spec.yml").verified


@pytest.mark.sampled(4)
@pytest.mark.parametrize("answer", ["n\n", "\n", "\x04", "Ctrl-C"])
def test_at_a_terminal_anything_but_yes_changes_nothing(place: Path, answer: str) -> None:
    write("numpy")
    before = prints()
    terminal = Terminal("run", "spec.yml")
    terminal.wait_for(" checked")
    terminal.wait_for("best so far 0.")
    terminal.wait_for("(gap ")
    terminal.interrupt()
    terminal.wait_for("Release it? [y/N]")
    if answer == "Ctrl-C":
        terminal.interrupt()
    else:
        terminal.type(answer)
    code, out = terminal.end()
    assert (code, out) == (130, ""), terminal.said
    assert terminal.said.rstrip().endswith("interrupted")
    assert "transformation: {q0: " in terminal.said
    # the line that followed the search told what is proven
    assert ", best so far " in terminal.said
    assert ", proven at least 0" in terminal.said
    assert prints() == before


def test_a_search_without_a_release_tells_what_it_has(place: Path) -> None:
    write("numpy")
    before = prints()
    terminal = Terminal("search", "spec.yml", "--k", "5")
    terminal.wait_for("best so far 0.")
    terminal.interrupt()
    code, out = terminal.end()
    assert (code, out) == (130, ""), terminal.said
    assert "transformation: {q0: " in terminal.said
    assert "[y/N]" not in terminal.said
    assert prints() == before


@pytest.mark.full
@pytest.mark.parametrize("engine", ["sql", "numpy"])
def test_a_deep_check_tells_what_it_has(place: Path, engine: str) -> None:
    write(engine)
    before = prints()
    terminal = Terminal("check", "spec.yml", "--deep")
    terminal.wait_for("best so far 0.")
    terminal.interrupt()
    code, out = terminal.end()
    assert (code, out) == (130, ""), terminal.said
    assert "transformation: {q0: " in terminal.said
    assert "[y/N]" not in terminal.said
    assert prints() == before


@pytest.mark.full
def test_a_search_without_a_terminal_tells_what_it_has(place: Path) -> None:
    write("numpy")
    with started("search", "spec.yml", "-v", stderr=subprocess.PIPE, text=True) as run:
        for line in run.stderr:
            if "best so far 0." in line:
                break
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    assert (run.returncode, out) == (130, "")
    assert "Best so far: loss 0." in err
    assert "  transformation: {q0: " in err


ASKED = Options(False, False, 0, False, None, None, None, False)
FAR = Progress(12, 5, inf, 0.0, seconds=130.4)


def stopped(follower: Follower, best: BestSoFar | None = None) -> None:
    """A search that is interrupted, and says so where it has found something."""
    follower.notify("search", None)
    follower.notify("search", FAR)
    if best is not None:
        follower.tell(best)
    raise KeyboardInterrupt


def test_what_has_found_nothing_tells_how_far_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), following(ASKED) as follower:
        stopped(follower)
    told = "search: 12 checked in 2 min 10 s, 5 open, nothing found yet"
    assert capsys.readouterr().err == f"It was interrupted here: {told}\n"


def test_how_far_it_was_is_not_told_beside_the_best_so_far_or_to_the_quiet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(KeyboardInterrupt), following(ASKED) as follower:
        stopped(follower, BestSoFar({"age": 1}, "loss", 0.5, 0.1, 12))
    assert "interrupted here" not in capsys.readouterr().err
    quiet = Options(False, True, 0, False, None, None, None, False)
    with pytest.raises(KeyboardInterrupt), following(quiet) as follower:
        stopped(follower)
    assert capsys.readouterr().err == ""
