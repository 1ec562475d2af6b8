"""Files that are looked at again, to see whether what was read of them still holds."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# Which file it is, how long, and when it was last written or replaced; None: there is none.
State = tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Watched:
    """Files as they were before they were read.

    Only their state is looked at, as `make` does. To open and close a file that DuckDB has open in
    this process would end the lock that keeps other processes from writing into it.

    Attributes:
        states: of each file.
    """

    states: dict[Path, State]

    @classmethod
    def of(cls, paths: Iterable[Path]) -> Watched:
        """The files as they are now; each with the log that DuckDB may keep beside it."""
        both = (p for path in paths for p in (path, path.with_name(f"{path.name}.wal")))
        return cls({path: _state(path) for path in both})

    def with_(self, paths: Iterable[Path]) -> Watched:
        """These and other files."""
        return Watched(Watched.of(paths).states | self.states)

    @property
    def changed(self) -> bool:
        """Whether any of them was written, replaced, made or removed since."""
        return any(_state(path) != state for path, state in self.states.items())


def _state(path: Path) -> State:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
