"""A PostgreSQL server of one's own, asked through psql."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine_cases import Rows, Table

PROGRAMS = ("initdb", "postgres", "psql")


def programs() -> dict[str, str] | None:
    """Where the programs of a server are; None where one is missing."""
    folders = [os.environ.get("PATH", "")]
    if config := shutil.which("pg_config"):
        told = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=True)
        folders.append(told.stdout.strip())
    found = {name: shutil.which(name, path=os.pathsep.join(folders)) for name in PROGRAMS}
    return None if None in found.values() else {name: str(path) for name, path in found.items()}


@dataclass(frozen=True)
class Server:
    """A running server, by the folder of its socket."""

    psql: str
    folder: Path

    def run(self, script: str) -> str:
        """What psql prints for a script, which stops at its first error."""
        options = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-U", "owner"]
        done = subprocess.run(
            [self.psql, *options, "-h", str(self.folder)],
            input=script,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if done.returncode:
            raise AssertionError(f"{done.stderr}\n{script}")
        return done.stdout

    def write(self, tables: Iterable[Table]) -> None:
        """Write tables anew."""
        self.run("\n".join(statement for table in tables for statement in _written(table)))

    def ask(self, queries: Iterable[str]) -> list[Rows]:
        """The rows of each query."""
        whole = "SELECT COALESCE(TRANSLATE(CAST(JSON_AGG(answer) AS TEXT), E'\\n', ''), '[]') FROM"
        printed = self.run("\n".join(f"{whole} (\n{query}\n) AS answer;" for query in queries))
        return [json.loads(line, object_pairs_hook=_row) for line in printed.splitlines()]


def _row(pairs: list[tuple[str, Any]]) -> tuple[Any, ...]:
    """A row of JSON, in which the server may have cut two long names to the same one."""
    return tuple(value for _, value in pairs)


_TYPES = {"DOUBLE": "DOUBLE PRECISION", "VARCHAR[]": "TEXT[]", "VARCHAR": "TEXT"}


def _type(kind: str) -> str:
    return "TEXT" if kind.startswith("ENUM") else _TYPES.get(kind, kind)


def _written(table: Table) -> Iterator[str]:
    columns = ", ".join(f'"{name}" {_type(kind)}' for name, kind in table.columns.items())
    yield f'DROP TABLE IF EXISTS "{table.name}"; CREATE TABLE "{table.name}" ({columns});'
    for row in table.rows:
        yield f'INSERT INTO "{table.name}" VALUES ({", ".join(map(_literal, row))});'


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool | int | float | Decimal):
        return str(value)
    if isinstance(value, list | tuple):
        return f"CAST(ARRAY[{', '.join(map(_literal, value))}] AS TEXT[])"
    text = value.isoformat(" ") if isinstance(value, date) and hasattr(value, "hour") else value
    return "'" + str(text).replace("'", "''") + "'"


@contextmanager
def running(found: dict[str, str]) -> Iterator[Server]:
    """A server with a database that sorts text as people do, as most servers."""
    user = _unprivileged() if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        if user is not None:
            shutil.chown(folder, user)
        _initialize(found["initdb"], folder / "data", user)
        settings = {
            **{"listen_addresses": "", "unix_socket_directories": str(folder), "fsync": "off"},
            **{"jit": "off", "TimeZone": "America/New_York"},
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [found["postgres"], "-D", str(folder / "data"), *options],
                stdout=log,
                stderr=log,
                user=user,
            )
        try:
            server = Server(found["psql"], folder)
            _await(server, process)
            yield server
        finally:
            process.terminate()
            process.wait(timeout=60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged() -> str:
    """Some user that is not root, as whom a server refuses to run."""
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise AssertionError("no user but root")


def _initialize(program: str, data: Path, user: str | None) -> None:
    options = ["-D", str(data), "-U", "owner", "-A", "trust", "-E", "UTF8", "--no-sync"]
    by_language = ["--locale=C", "--locale-provider=icu", "--icu-locale=en-US"]
    for locale in (by_language, ["--locale=C"]):  # before version 15 only the latter
        done = subprocess.run(
            [program, *options, *locale], capture_output=True, text=True, check=False, user=user
        )
        if not done.returncode:
            return
        shutil.rmtree(data, ignore_errors=True)
    raise AssertionError(done.stderr)


def _await(server: Server, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        with suppress(AssertionError):
            server.run("SELECT 1")
            return
        try:
            process.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            continue
        break
    raise AssertionError((server.folder / "log").read_text())
