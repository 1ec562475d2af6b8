"""What a process holds still for a moment (who may read its new files, Ctrl-C), and its memory."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

_GROUPS = Path("/sys/fs/cgroup")

_counting = threading.Lock()
_inside = 0
_ordinary = 0


@contextmanager
def private_files() -> Iterator[None]:
    """New files are for their owner only: DuckDB asks for ordinary permissions.

    The mask is the whole process's, so the blocks of several threads are counted: the last to
    leave gives it back.
    """
    global _inside, _ordinary
    with _counting:
        if _inside == 0:
            _ordinary = os.umask(0o077)
        _inside += 1
    try:
        yield
    finally:
        with _counting:
            _inside -= 1
            if _inside == 0:
                os.umask(_ordinary)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back until the block is done; it then acts as it would have.

    Python gives signals to its main thread only, so other threads need no protection.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            before(*held[0])


def memory(groups: Path = _GROUPS, member: Path = Path("/proc/self/cgroup")) -> int | None:
    """Bytes of memory that this process may use; None where the system does not say.

    It is the memory of the machine, or less where the process is in a control group, as a
    container is.

    Args:
        groups: where Linux keeps the limits of control groups.
        member: says in which group the process is.
    """
    try:
        found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, ValueError, OSError):  # as on Windows
        return None
    inside = [groups, groups / "memory"]
    with suppress(OSError):
        # names of groups are bytes of any kind, and may hold colons and blanks
        for line in os.fsdecode(member.read_bytes()).splitlines():
            _, kinds, own = (*line.split(":", 2), "", "")[:3]
            if kinds in ("", "memory"):  # "": of the newer system
                group = groups / kinds / own.lstrip("/")
                inside += [group, *group.parents]
    for folder in inside:
        for name in ("memory.max", "memory.limit_in_bytes"):
            with suppress(OSError, ValueError):  # no such group, or `max`
                found.append(int((folder / name).read_bytes()))
    return min((size for size in found if size > 0), default=None)  # 0 and -1 are no limits
