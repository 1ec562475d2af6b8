"""The runner: a case is run through the command line, and everything promised of it is checked."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import tiers

from bad_input.place import CANARIES, Changes, build, objects_of, tree


@dataclass(frozen=True, kw_only=True)
class Released:
    """What a release must be when the input is odd, but legal."""

    qis: tuple[str, ...] = ("age", "zip", "sex")
    rest: tuple[str, ...] = ("illness", "wage")
    k: int = 2
    release: str = "people_public"
    target: str = "out.duckdb"
    source: str = "people"
    limit: float = 0.1


@dataclass(frozen=True, kw_only=True)
class Case:
    """One input, and what must come of it.

    Attributes:
        name: in words.
        words: the command line.
        code: the exit code.
        place: a piece of the message that says where.
        hint: a piece of the hint that says what to do.
        spec: changes to the good spec (`columns/age/weight`: value), or the text of another.
        sql: run in the owner's database before.
        files: written before.
        build: anything else that is done before.
        real: run as a process of its own.
        stdin: given to the command.
        env: of a process of its own.
        new: files that may be there afterwards.
        released: for what is legal, the release that must be right.
        says: pieces of standard output.
    """

    name: str
    words: tuple[str, ...] = ("run", "spec.yml")
    code: int = 2
    place: str = ""
    hint: str = ""
    spec: Changes | str | bytes | None = field(default_factory=dict)
    sql: str = ""
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    build: Callable[[Path], None] | None = None
    real: bool = False
    stdin: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    new: tuple[str, ...] = ()
    released: Released | None = None
    says: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str
    seconds: float


Call = Callable[[Case, tuple[str, ...]], Ended]


@cache
def command_line() -> Any:
    """The command of the app, which typer makes anew for each call, in a third of its time."""
    from typer.main import get_command

    from dbdeid.cli.app import app

    return get_command(app)


def in_process(case: Case, words: tuple[str, ...]) -> Ended:
    """The command line in this process; logs go where a process of its own would write them."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    root, stdin = logging.getLogger(), sys.stdin
    handlers, root.handlers = root.handlers, []
    sys.stdin = io.StringIO(case.stdin)
    start = time.perf_counter()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                command_line()(args=list(words), prog_name="dbdeid")
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        seconds = time.perf_counter() - start
        sys.stdin, root.handlers = stdin, handlers
    return Ended(code, out.getvalue(), err.getvalue(), seconds)


def as_process(case: Case, words: tuple[str, ...]) -> Ended:
    """The command line as a user starts it."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "dbdeid", *words],
        input=case.stdin,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=60,
        env={**os.environ, **case.env},
    )
    return Ended(done.returncode, done.stdout, done.stderr, time.perf_counter() - start)


# Names of exceptions, which mean something only to who wrote the code.
INTERNALS = re.compile(
    r"Traceback|\bFile \"|\b[A-Z]\w*(?:Error|Exception)\b|pydantic|pybind|sqlglot|<class|0x[0-9a-f]{6}"
    r"|[Ii]nput should|should have at|to extract fields"
)


def check(case: Case, folder: Path, template: Path, call: Call | None = None) -> Ended:
    """Run a case in a fresh folder and hold everything that is promised against it.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    call = call or (as_process if case.real else in_process)
    build(folder, template, case.spec, case.sql, case.files)
    home = Path.cwd()
    os.chdir(folder)
    try:
        if case.build is not None:
            case.build(folder)
        before, owner = tree(folder), (folder / "owner.duckdb").read_bytes()
        ended = call(case, case.words)
        _check_ending(case, ended)
        _check_words(case, ended)
        if case.code:
            _check_untouched(case, folder, before, owner)
            _check_json(case, ended, call)
        _check_untouched(case, folder, before, owner)
        if case.released is not None:
            _check_release(case.released, folder)
    finally:
        os.chdir(home)
    return ended


def _check_ending(case: Case, ended: Ended) -> None:
    said = f"\n--- stdout\n{ended.out[:3000]}\n--- stderr\n{ended.err[:3000]}"
    assert ended.code == case.code, f"exit code {ended.code} instead of {case.code}{said}"
    found = INTERNALS.search(ended.err) or INTERNALS.search(ended.out if case.code else "")
    assert found is None, f"speaks of internals: {found}{said}"
    for canary in CANARIES:
        assert canary not in ended.out + ended.err, f"shows a cell ({canary}){said}"
    assert "\0" not in ended.err, "writes a NUL character"
    assert len(ended.err) < 20_000, f"a message of {len(ended.err)} characters"


def _check_words(case: Case, ended: Ended) -> None:
    if case.code == 0:
        assert ended.err == "", f"speaks on standard error: {ended.err}"
    else:
        assert case.place, "the case does not say where the mistake is"
        assert case.hint, "the case does not say what the hint is"
        assert case.place in ended.err, f"no place {case.place!r} in: {ended.err[:3000]}"
        hints = [
            line
            for line in ended.err.splitlines()
            if line.lstrip().startswith(("Hint: ", "Try ", "Error: "))
        ]
        assert any(case.hint in hint for hint in hints), (
            f"no hint {case.hint!r} in: {ended.err[:3000]}"
        )
        if case.words[:1] == ("--json",):
            assert json.loads(ended.out)["exit_code"] == case.code
        elif case.code != 4:
            assert ended.out == "", f"speaks on standard output: {ended.out[:3000]}"
    for piece in case.says:
        assert piece in ended.out, f"no {piece!r} in: {ended.out[:3000]}"


def _check_untouched(case: Case, folder: Path, before: Mapping[str, str], owner: bytes) -> None:
    after = tree(folder)
    new = {name for name in after if name not in before and name not in case.new}
    assert not new, f"leaves {sorted(new)}"
    lost = before.keys() - after.keys()
    assert not lost, f"loses {sorted(lost)}"
    other = {name for name in before if before[name] != after[name] and name not in case.new}
    if "owner.duckdb" in other:
        found = (folder / "owner.duckdb").read_bytes()
        then, now = objects_of(owner), objects_of(found)
        inside = case.released is not None and case.released.target == "owner.duckdb"
        if inside or case.words[:1] == ("sql",):  # which installs the macros
            now = {name: value for name, value in now.items() if name in then}
        assert now == then, "the owner's database was changed"
        other.discard("owner.duckdb")
    assert not other, f"changes {sorted(other)}"


def _check_json(case: Case, ended: Ended, call: Call) -> None:
    """With --json an error is told in the same words, in a document as well."""
    # every sixth case in the default tier
    chosen = tiers.full or zlib.crc32(case.name.encode("utf-8", "replace")) % 6 == 0
    if not chosen or "--json" in case.words or "--" in case.words or case.real:
        return
    at = 2 if case.words[:1] == ("macros",) else 1
    other = call(case, (*case.words[:at], "--json", *case.words[at:]))
    assert other.code == ended.code, f"exit code {other.code} with --json"
    assert other.err == ended.err, f"other words with --json: {other.err[:3000]}"
    told = json.loads(other.out)
    if told.keys() == {"error", "exit_code", "mistakes"}:
        heads = "error", "Error"  # the second of words that make no command
        assert any(f"{head}: {told['error']}" in other.err for head in heads)
        assert told["exit_code"] == other.code
    else:
        assert case.code == 4


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _check_release(wanted: Released, folder: Path) -> None:
    """A release by an independent look: columns, class sizes, what was left out, nothing invented."""
    with duckdb.connect(folder / wanted.target, read_only=True) as con:
        owner = "main"
        if wanted.target != "owner.duckdb":
            owner = "the_owner.main"
            con.execute(f"ATTACH {_text(folder / 'owner.duckdb')} AS the_owner (READ_ONLY)")
        table = _quoted(wanted.release)
        names = [row[0] for row in con.execute(f"DESCRIBE {table}").fetchall()]
        assert sorted(names) == sorted([*wanted.qis, *wanted.rest]), names
        columns = ", ".join(map(_quoted, wanted.qis))
        sizes = con.execute(f"SELECT count(*) FROM {table} GROUP BY {columns}").fetchall()
        assert min(n for (n,) in sizes) >= wanted.k
        source = wanted.source if wanted.source.startswith("'") else f"{owner}.{wanted.source}"
        ((rows,),) = con.execute(f"SELECT count(*) FROM {source}").fetchall()
        released = sum(n for (n,) in sizes)
        assert rows * (1 - wanted.limit) <= released <= rows
        others = ", ".join(map(_quoted, wanted.rest)) or "1"
        invented = f"SELECT {others} FROM {table} EXCEPT ALL SELECT {others} FROM {source}"
        assert con.execute(invented).fetchall() == []


def _text(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def document(ended: Ended) -> Any:
    """What was printed as JSON."""
    return json.loads(ended.out)
