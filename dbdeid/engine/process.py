"""What a process holds still for a moment: who may read its new files, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

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
