"""A MariaDB server of one's own, asked through pymysql."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAMS = ("mariadbd", "mariadb-install-db")


def programs() -> dict[str, str] | None:
    """Where the programs of a server are; None where one is missing."""
    folders = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
    found = {name: shutil.which(name, path=folders) for name in PROGRAMS}
    return None if None in found.values() else {name: str(path) for name, path in found.items()}


@dataclass(frozen=True)
class Maria:
    """A running server with a database `town`, by the folder of its socket."""

    folder: Path

    def address(self, user: str = "root", database: str = "town") -> str:
        """Its address, as a specification has it."""
        return f"mysql://{user}@localhost/{database}?socket={self.folder / 'socket'}"

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """The rows of the last of some statements, in a session of their own."""
        import pymysql

        with closing(
            pymysql.connect(
                unix_socket=str(self.folder / "socket"),
                user="root",
                database="town",
                charset="utf8mb4",
                autocommit=True,
            )
        ) as connection:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def tables(self) -> set[str]:
        """What the database holds."""
        return {str(name) for (name,) in self.run("SHOW TABLES")}

    def end_others(self) -> None:
        """End every other session, as a server that goes away does."""
        listed = "SELECT id FROM information_schema.processlist WHERE id <> connection_id()"
        for (number,) in self.run(f"{listed} AND command <> 'Daemon'"):
            with suppress(Exception):  # it has ended meanwhile
                self.run(f"KILL {number}")


@contextmanager
def running(found: dict[str, str]) -> Iterator[Maria]:
    """A server that only its socket leads to."""
    user = _unprivileged() if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="my-"))
    try:
        folder.chmod(0o755)
        if user is not None:
            shutil.chown(folder, user)
        _initialize(found["mariadb-install-db"], folder / "data", user)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [
                    *(found["mariadbd"], "--no-defaults", f"--datadir={folder / 'data'}"),
                    *(f"--socket={folder / 'socket'}", "--skip-networking"),
                    *(f"--pid-file={folder / 'pid'}", "--innodb-flush-log-at-trx-commit=0"),
                ],
                stdout=log,
                stderr=log,
                user=user,
            )
        try:
            server = Maria(folder)
            _await(server, process)
            yield server
        finally:
            process.terminate()
            process.wait(timeout=60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged() -> str:
    """Some user that is not root, as whom a server refuses to run."""
    for name in ("mysql", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise AssertionError("no user but root")


def _initialize(program: str, data: Path, user: str | None) -> None:
    options = ["--no-defaults", f"--datadir={data}", "--skip-test-db"]
    done = subprocess.run(
        [program, *options, "--auth-root-authentication-method=normal"],
        capture_output=True,
        text=True,
        check=False,
        user=user,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _await(server: Maria, process: subprocess.Popen[bytes]) -> None:
    import pymysql

    socket = server.folder / "socket"
    for _ in range(600):
        if process.poll() is not None or socket.exists():
            break
        time.sleep(0.1)
    assert socket.exists(), (server.folder / "log").read_text()
    with closing(pymysql.connect(unix_socket=str(socket), user="root", autocommit=True)) as one:
        one.cursor().execute("CREATE DATABASE town")
