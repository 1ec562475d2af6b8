"""Private folders for unfinished files, removed even after a process was killed.

Whatever a process has not finished (spilled rows, staged files) lies in a folder
`.dbdeid-<16 hex digits>` that only its owner can open. The process keeps the file `lock` in it
locked; the operating system lets go of that lock whenever the process ends, however it ends. Who
finds such a folder and gets its lock therefore knows that its process is gone, and is alone with
it. A folder may name its home, the database whose book can still want its files: nobody else
removes it while that database exists.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dbdeid.engine.process import uninterrupted
from dbdeid.errors import DataError

_NAME = re.compile(r"\.dbdeid-[0-9a-f]{16}")
_LOCK, _HOME = "lock", "home"
_alive: dict[Path, int] = {}  # the folders of this process, and the process: a fork is another


@dataclass(frozen=True, slots=True)
class Scratch:
    """A scratch folder whose lock this process holds.

    Attributes:
        path: the folder.
        lock: descriptor of its locked file.
    """

    path: Path
    lock: int

    @classmethod
    def make(cls, folder: Path, home: Path | None = None) -> Scratch:
        """A new scratch folder inside a folder.

        Args:
            folder: where it is made; files are then finished there by a rename.
            home: the database whose book may want its files after the process is gone.

        Raises:
            DataError: the folder cannot be written.
        """
        made: Scratch | None = None
        try:
            while True:
                path = folder.resolve() / f".dbdeid-{secrets.token_hex(8)}"
                _alive[path] = os.getpid()
                path.mkdir(mode=0o700)
                # Until it is locked, another process may take it for an abandoned one.
                if made := _take(path):
                    break
                _alive.pop(path, None)  # a thread that sweeps may have had it
            if home is not None:
                name = os.path.relpath(home.resolve(), path.parent)
                (path / _HOME).write_text(name, encoding="utf-8")
        except OSError as error:
            if made is not None:
                made.remove()
            raise DataError(
                f"the folder {folder} cannot be written ({error.strerror})",
                hint="unfinished files are kept there; make it writable, or choose another place",
            ) from None
        return made

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        with uninterrupted():
            shutil.rmtree(self.path, ignore_errors=True)
            self.leave()

    def leave(self) -> None:
        """Let go of the folder and leave it as it is."""
        _alive.pop(self.path, None)
        os.close(self.lock)

    def wanted(self, home: Path | None) -> bool:
        """Whether the book of a database other than `home` may still want files of this folder."""
        try:
            name = (self.path / _HOME).read_text(encoding="utf-8")
        except FileNotFoundError:
            return False
        marked = (self.path.parent / name).resolve()
        return marked.exists() and (home is None or marked != home.resolve())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def abandoned(folder: Path, home: Path | None = None) -> Iterator[Scratch]:
    """The scratch folders in a folder whose process is gone, their locks taken.

    Args:
        folder: where they are looked for.
        home: the database whose own are given too; others that still have a home are not.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        found = [Path(e.path).resolve() for e in entries if _NAME.fullmatch(e.name) and _own(e)]
        for path in found:
            with suppress(OSError):
                if taken := _take(path):
                    if taken.wanted(home):
                        taken.leave()
                    else:
                        yield taken


def sweep(folder: Path) -> None:
    """Remove what processes that are gone left in a folder and no book can want."""
    for left in abandoned(folder):
        left.remove()


def spill_folder(database: Path | None) -> Path:
    """Where rows that do not fit into memory go.

    `$TMPDIR` when it is set; else beside the database, where there is room for what it holds; the
    system's folder for temporary files when that cannot be written, or without a database.
    """
    if database is None or os.environ.get("TMPDIR"):
        return _temporary()
    beside = database.resolve().parent
    return beside if os.access(beside, os.W_OK) else _temporary()


def _temporary() -> Path:
    """The system's folder for temporary files.

    To find one Python writes a file into it, which an interrupt would leave there.
    """
    with uninterrupted():
        return Path(tempfile.gettempdir())


def _own(entry: os.DirEntry[str]) -> bool:
    return (
        entry.is_dir(follow_symlinks=False)
        and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    )


def _take(path: Path) -> Scratch | None:
    """Lock a scratch folder; None when another process has it, or has removed it meanwhile."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        lock = os.open(path / _LOCK, flags, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), os.stat(path / _LOCK)):
            return Scratch(path, lock)
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(lock)
        raise
    os.close(lock)
    return None


@atexit.register
def _remove_own() -> None:
    """What an interrupt at an unlucky moment may have left."""
    for path, process in _alive.items():
        if process == os.getpid():
            shutil.rmtree(path, ignore_errors=True)
