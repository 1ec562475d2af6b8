"""The specification on the desk: its file is the only state, and every click is an edit of it.

An edit says which text it was made of. Where the file says something else by now, because of
another tab or an editor, nothing is written, and the newer text is shown.
"""

from __future__ import annotations

import copy
import hashlib
import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import unified_diff
from functools import lru_cache
from glob import escape
from pathlib import Path
from typing import Any

from dbdeid.bind.read import read
from dbdeid.engine import regular
from dbdeid.errors import DataError, DbdeidError
from dbdeid.spec.file import SpecFile, text_of
from dbdeid.ui.sheet.text_edits import plain, rewritten

Data = dict[str, Any]
ABANDONED = 60.0  # seconds after which nobody writes a file any more
MOST_UNDONE = 200  # edits that can be taken back


class Stale(DataError):
    """The file has changed since the page was made that an edit comes from."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A specification as its file says it now.

    Attributes:
        text: of the file.
        version: tells texts apart.
        data: its plain values; None where it is no YAML.
        file: the specification; None where it has mistakes.
        mistakes: what is wrong, each with its place and what to do.
    """

    text: str
    version: str
    data: Mapping[str, Any] | None
    file: SpecFile | None
    mistakes: tuple[str, ...]

    @property
    def columns(self) -> Mapping[str, Any]:
        """The entries of the columns that the text has, by their keys."""
        found = (self.data or {}).get("columns")
        return found if isinstance(found, Mapping) else {}


@dataclass(slots=True)
class Desk:
    """One specification that is decided on.

    Attributes:
        path: its file.
    """

    path: Path
    _opened: str | None = None
    _undone: list[tuple[str, str]] = field(default_factory=list)  # before and after each edit
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def folder(self) -> Path:
        """Where it is; nothing outside is read or written on a click."""
        return self.path.parent

    def sheet(self) -> Sheet:
        """The specification as its file says it now.

        Raises:
            SpecError: the file cannot be read.
        """
        text = text_of(self.path)
        if self._opened is None:
            self._opened = text
            _sweep(self.path)
        return _sheet(self.path, text, _around(self.path))

    def edit(self, version: str, make: Callable[[Data], None]) -> bool:
        """Change the specification.

        Args:
            version: of the text that the change was made of.
            make: changes the plain values in place.

        Returns:
            whether anything changed.

        Raises:
            Stale: the file says something else by now; nothing was written.
            SpecError: it cannot be changed without losing something.
        """
        with self._lock:
            before = self._current(version)
            data = plain(before, self.path.name)
            if not isinstance(data, dict):
                raise DataError("a spec is a mapping of keys", hint="start with `release: NAME`")
            wanted = copy.deepcopy(data)
            make(wanted)
            after = rewritten(before, wanted, self.path.name)
            if after == before:
                return False
            _replace(self.path, before, after)
            self._undone.append((before, after))
            del self._undone[:-MOST_UNDONE]
        return True

    def undo(self, version: str) -> None:
        """Take the last edit of this page back.

        Raises:
            Stale: the file says something else by now.
            DataError: there is none, or the file was edited elsewhere after it.
        """
        with self._lock:
            now = self._current(version)
            if not self._undone or self._undone[-1][1] != now:
                raise DataError("nothing to take back", hint="the file was changed elsewhere")
            before, _ = self._undone[-1]
            _replace(self.path, now, before)
            self._undone.pop()

    @property
    def undoable(self) -> bool:
        """Whether the last change of the file was an edit of this page."""
        with suppress(DbdeidError):
            return bool(self._undone) and self._undone[-1][1] == text_of(self.path)
        return False

    def diff(self) -> list[tuple[str, str]]:
        """The lines that changed since the page was opened: what they are, and their text."""
        now = text_of(self.path)
        lines = unified_diff((self._opened or now).splitlines(), now.splitlines(), n=1, lineterm="")
        kinds = {"+": "added", "-": "removed", "@": "place"}
        return [(kinds.get(line[:1], "same"), line) for line in list(lines)[2:]]

    def _current(self, version: str) -> str:
        text = text_of(self.path)
        if version != version_of(text):
            raise Stale(
                "the file has changed since this page was shown, and nothing was written",
                hint="this is how it is now: look at it, and decide again",
            )
        return text


def _sweep(path: Path) -> None:
    """Remove what a killed server had begun to write; what is younger may be another one's."""
    for aside in path.parent.glob(f".{escape(path.name)}.*.tmp"):
        with suppress(OSError):
            if time.time() - aside.stat().st_mtime > ABANDONED:
                aside.unlink()


def version_of(text: str) -> str:
    """The version of a text: a digest that changes with it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _around(path: Path) -> tuple[int, ...]:
    """The times of the project files above it, to notice that one has changed."""
    found = []
    for folder in path.parents:
        with suppress(OSError):
            found.append((folder / "dbdeid.yml").stat().st_mtime_ns)
    return tuple(found)


@lru_cache(maxsize=4)
def _sheet(path: Path, text: str, around: tuple[int, ...]) -> Sheet:
    version = version_of(text)
    try:
        data = plain(text, path.name)
    except DbdeidError as error:
        return Sheet(text, version, None, None, _told(error))
    whole = data if isinstance(data, dict) else None
    try:
        return Sheet(text, version, whole, read(path), ())
    except DbdeidError as error:
        return Sheet(text, version, whole, None, _told(error))


def _told(error: DbdeidError) -> tuple[str, ...]:
    mistakes = getattr(error, "mistakes", ())
    return tuple(map(str, mistakes)) or (str(error),)


def _replace(path: Path, before: str, after: str) -> None:
    """Put a text in place of another: whoever reads the file finds the one or the other, whole.

    Raises:
        DataError: it cannot be written, or somebody has changed it in this moment.
    """
    aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        mode = path.stat().st_mode & 0o777
        ends = "\r\n" if b"\r\n" in regular.content(path) else "\n"
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", newline=ends) as file:
            file.write(after)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        if text_of(path) != before:
            raise Stale("the file has changed in this moment", hint="decide again")
        aside.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise DataError(
            f"{path.name} cannot be written ({error.strerror})", hint="it is as it was"
        ) from None
    finally:
        with suppress(FileNotFoundError):
            aside.unlink()
