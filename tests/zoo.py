"""Whole releases that tests start from: each is made once, and every test works on its own copy.

A small release takes seconds, and a copy of its files next to nothing. A test that looks at a
release, or does something to it, gets it here; one of how a release is made makes it itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Callable, Hashable
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, TypeVar

import dbdeid
from dbdeid.release.result import RunResult

Made = TypeVar("Made")

_CHECKOUT = Path(__file__).parents[1]
# Each in a folder that nothing changes any more, until this process ends.
_HOME = TemporaryDirectory(prefix="zoo-")
_KEPT: dict[Hashable, tuple[str, Any]] = {}


def fill(make: Callable[..., Made], *given: Any) -> Made:
    """Have in the working directory what a function writes into an empty one.

    Args:
        make: depends on nothing but what it is given.
        given: to call it with.

    Returns:
        what it returned.
    """
    key = ("fill", make.__module__, make.__qualname__, repr(given))
    return _copied(key, lambda: make(*given))


def run(spec: dict[str, Any] | str, *, trial: bool = False) -> RunResult:
    """`dbdeid.run` in the working directory: made anew for another spec or other files.

    Args:
        spec: all of whose paths are relative, or the name of such a file.
        trial: as there.
    """
    key = ("run", repr(spec), trial, _digest(Path()))
    return _copied(key, lambda: dbdeid.run(spec, trial=trial), Path())


def _copied(key: Hashable, make: Callable[[], Made], start: Path | None = None) -> Made:
    assert not Path.cwd().is_relative_to(_CHECKOUT), "it is a test's own folder that is filled"
    if key not in _KEPT:
        folder = mkdtemp(dir=_HOME.name)
        if start is not None:
            shutil.copytree(start, folder, dirs_exist_ok=True, symlinks=True)
        with contextlib.chdir(folder):
            _KEPT[key] = folder, make()
    folder, made = _KEPT[key]
    shutil.copytree(folder, Path(), dirs_exist_ok=True, symlinks=True)
    return made


def _digest(folder: Path) -> str:
    """Tells folders apart by the names and the bytes of their files."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        found.update(f"{path}\n{len(data)}\n".encode() + data)
    return found.hexdigest()
