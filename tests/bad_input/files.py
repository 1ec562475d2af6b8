"""Files: unreadable, corrupt, of another kind, on a full disk. All as processes of their own."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from bad_input.place import GONE
from bad_input.runner import Case

Build = Callable[[Path], None]
NO_END = ("people.parquet is no Parquet file; it begins like one", "write it again")


def _damaged(change: Callable[[bytes], bytes]) -> Build:
    def build(folder: Path) -> None:
        path = folder / "owner.duckdb"
        path.write_bytes(change(path.read_bytes()))

    return build


def _noise(count: int) -> bytes:
    return bytes((i * 197 + 31) % 256 for i in range(count))


def _replaced(name: str, make: Callable[[Path], Any]) -> Build:
    def build(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        make(folder / name)

    return build


CORRUPT = tuple(
    Case(
        name=f"a database {what}",
        build=_damaged(change),
        real=True,
        place="owner.duckdb",
        hint=hint,
    )
    for what, change, hint in (
        ("of no bytes that is only read", lambda data: b"", "a .duckdb file"),
        ("of noise", lambda data: _noise(len(data)), "a .duckdb file"),
        ("of text", lambda data: b"no database\n" * 1000, "a .duckdb file"),
        ("cut after its header", lambda data: data[:12288], "disk"),
        ("cut in its header", lambda data: data[:3000], "disk"),
        ("cut in half", lambda data: data[: len(data) // 2], "disk"),
        (
            "with garbage after its header",
            lambda data: data[:12288] + _noise(len(data) - 12288),
            "damaged",
        ),
        ("with a gzip around it", gzip.compress, "a .duckdb file"),
    )
)

PARQUET = tuple(
    Case(
        name=f"a Parquet file {what}",
        spec={"source": "people.parquet", "database": GONE},
        build=_parquet,
        real=True,
        place=place,
        hint=hint,
    )
    for what, place, hint, _parquet in (
        ("cut in half", *NO_END, lambda folder: _cut(folder, lambda data: data[: len(data) // 2])),
        (
            "without its middle",
            "DuckDB: Invalid Input Error",
            "-vv",
            lambda folder: _cut(folder, lambda data: data[:200] + _noise(400) + data[600:]),
        ),
        ("without its end", *NO_END, lambda folder: _cut(folder, lambda data: data[:-9])),
    )
)


def _cut(folder: Path, change: Callable[[bytes], bytes]) -> None:
    path = folder / "people.parquet"
    with duckdb.connect(folder / "owner.duckdb", read_only=True) as con:
        con.execute(f"COPY people TO '{path}'")
    path.write_bytes(change(path.read_bytes()))


KINDS = (
    Case(
        name="a database that is a folder",
        build=_replaced("base.duckdb", Path.mkdir),
        spec={"database": "base.duckdb"},
        real=True,
        place="base.duckdb: is a folder",
        hint="a .duckdb file",
    ),
    Case(
        name="a database that is a loop of links",
        build=lambda f: (f / "loop.duckdb").symlink_to("loop.duckdb"),
        spec={"database": "loop.duckdb"},
        real=True,
        place="database: loop.duckdb",
        hint="plain path",
    ),
    Case(
        name="a database that is a link to nothing",
        build=lambda f: (f / "link.duckdb").symlink_to("gone.duckdb"),
        spec={"database": "link.duckdb"},
        real=True,
        place="link.duckdb: no such database",
        hint="`database`",
    ),
    Case(
        name="a database that is a pipe",
        build=lambda f: os.mkfifo(f / "pipe.duckdb"),
        spec={"database": "pipe.duckdb"},
        real=True,
        place="pipe.duckdb: is no file",
        hint="a .duckdb file",
    ),
    Case(
        name="a database that is /dev/null",
        spec={"database": "/dev/null"},
        real=True,
        place="/dev/null",
        hint="a .duckdb file",
    ),
    Case(
        name="a spec that is a folder",
        build=lambda f: (f / "dir.yml").mkdir(),
        words=("run", "dir.yml"),
        real=True,
        place="dir.yml",
        hint="YAML file",
    ),
    Case(
        name="a spec that is a loop of links",
        build=lambda f: (f / "loop.yml").symlink_to("loop.yml"),
        words=("run", "loop.yml"),
        real=True,
        place="loop.yml",
        hint="YAML file",
    ),
    Case(
        name="a query that is a pipe",
        build=lambda f: os.mkfifo(f / "pipe.sql"),
        spec={"evaluate": {"queries": "*.sql"}},
        real=True,
        place="evaluate.queries",
        hint="queries/*.sql",
    ),
    Case(
        name="a query of latin-1",
        files={"q.sql": b"SELECT '\xe4'"},
        spec={"evaluate": {"queries": "*.sql"}},
        real=True,
        place="q.sql",
        hint="UTF-8",
    ),
    Case(
        name="a target that is a folder",
        build=lambda f: (f / "out.duckdb").mkdir(),
        real=True,
        place="out.duckdb",
        hint="another name",
    ),
    Case(
        name="an export that is a folder",
        build=lambda f: (f / "out.csv").mkdir(),
        spec={"output": {"export": ["out.csv"]}},
        real=True,
        place="out.csv",
        hint="another name",
    ),
    Case(
        name="a report on a folder",
        build=lambda f: _after_run(f) or (f / "page.html").mkdir(),
        words=("report", "spec.yml", "-o", "page.html"),
        real=True,
        place="page.html",
        hint="-o",
    ),
    Case(
        name="a report in no folder",
        build=lambda f: _after_run(f),
        words=("report", "spec.yml", "-o", "no/page.html"),
        real=True,
        place="page.html",
        hint="-o",
    ),
    Case(
        name="a private file that is garbage",
        files={"out.private.duckdb": _noise(20000)},
        real=True,
        place="out.private.duckdb",
        hint="a .duckdb file",
    ),
)


def _after_run(folder: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "dbdeid", "run", "spec.yml", "-q"],
        cwd=folder,
        check=True,
    )


CASES = (*CORRUPT, *PARQUET, *KINDS)
