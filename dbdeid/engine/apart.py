"""A command in a process of its own: what others wrote may break the reader, not the command.

A file can be made so that reading it takes all memory, or never ends, or ends the process that
reads it. So a command on such a file forks before anything is loaded: the child works within
limits, and the parent, which reads nothing, tells how it ended.
"""

from __future__ import annotations

import mmap
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from dbdeid.engine.scratch import Scratch, spill_folder, sweep
from dbdeid.errors import DataError, out_of

GIB = 2**30
# Computing that a file may take, all threads together: ten times what honest ones were seen to
# take, and enough for small ones on a slow machine.
_SECONDS, _SECONDS_PER_MB = 300, 30
# Of the machine's memory; beside it addresses are taken by libraries, and by stacks of threads.
_SHARE, _LIBRARIES, _PER_THREAD = 0.9, 2 * GIB, 2**27
# Spilled rows: many times what an honest file holds, packed as it may be; half of what is free.
_SPILL, _SPILL_PER_BYTE = 4 * GIB, 50
_LOADED = 2**28  # bytes of addresses that libraries take, at least
_NO_THREAD_DATA = 127  # how the C library ends when it has no memory for a thread
_PR_SET_PDEATHSIG = 1

_most_spilled: int | None = None  # by this process; None: what the engine takes by itself


@dataclass(frozen=True, slots=True)
class Limits:
    """What a process may take.

    Attributes:
        path: the file that it reads.
        seconds: of computing, all threads together.
        memory: addresses, in bytes.
        spilled: bytes on disk of rows that do not fit into memory, at most.
        folder: where these go, in a private folder.
    """

    path: Path
    seconds: int
    memory: int
    spilled: int
    folder: Path

    @classmethod
    def of(cls, path: Path) -> Limits:
        """Limits for a file, by its size and the machine's memory."""
        size = path.stat().st_size if path.is_file() else 0
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        threads = (os.cpu_count() or 1) * _PER_THREAD
        memory = int(machine * _SHARE) + _LIBRARIES + threads
        folder = spill_folder(path)
        spilled = min(_SPILL + _SPILL_PER_BYTE * size, shutil.disk_usage(folder).free // 2)
        return cls(path, _SECONDS + _SECONDS_PER_MB * size // 10**6, memory, spilled, folder)


def most_spilled() -> int | None:
    """How many bytes of rows this process may put on disk; None: nothing bounds them."""
    return _most_spilled


def bounded() -> bool:
    """Whether whoever started this process allows it little memory, which may end it anywhere."""
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def forked(limits: Limits | None) -> int | None:
    """Go on in a child, within limits; the parent waits for it.

    A process that has loaded the engine, or in which others work, is not forked: it is a test or
    another program, and goes on as it is.

    Args:
        limits: what the child may take; None where the file is the owner's.

    Returns:
        None in the child (or where there is none), the child's exit code in the parent.

    Raises:
        DataError: in the parent: the child has been ended, by its limits or for want of memory; or
            there is no place for what it spills.
    """
    alone = threading.active_count() == 1 and "duckdb" not in sys.modules
    if not alone or sys.stdout is not sys.__stdout__:
        return None
    parent = os.getpid()
    with ExitStack() as after:  # of the parent: the child may be killed, and remove nothing
        spill = None
        if limits is not None:
            for place in {limits.folder, spill_folder(None)}:
                sweep(place)
            spill = Scratch.make(limits.folder)
            after.callback(spill.remove)
        child = os.fork()
        if not child:
            after.pop_all()
            _end_with(parent)
            if bounded():
                _reserve()
            if limits is not None and spill is not None:
                _limit(limits)
                _spill_into(spill.path, limits)
            return None
        ended = _wait(child)
    code = os.waitstatus_to_exitcode(ended)
    if 0 <= code != _NO_THREAD_DATA:
        return code
    raise _told(-code, limits)


def _end_with(parent: int) -> None:
    """The child ends when its parent does, however that ends."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _reserve() -> None:
    """Let OpenBLAS have its memory, which it keeps; without any it would try again for ever.

    Raises:
        OSError: there is less than it takes to load the libraries.
    """
    mmap.mmap(-1, _LOADED).close()

    import numpy as np

    square = np.ones((200, 200))
    square @= square


def _spill_into(folder: Path, limits: Limits) -> None:
    """Let all that this process puts aside lie in a folder that its parent removes."""
    global _most_spilled
    _most_spilled = limits.spilled
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


def _limit(limits: Limits) -> None:
    for kind, most in (
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_CPU, limits.seconds),
        (resource.RLIMIT_CORE, 0),  # it would hold rows
    ):
        soft, hard = resource.getrlimit(kind)
        given = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
        with suppress(OSError, ValueError):  # a system may not have this one
            resource.setrlimit(kind, (min([most, *given]), hard))


def _wait(child: int) -> int:
    """The status that a child ends with; signals for this process are passed on to it."""

    def passed_on(number: int, _: FrameType | None) -> None:
        if number != signal.SIGINT or not sys.stdin.isatty():  # a terminal tells both
            with suppress(ProcessLookupError):
                os.kill(child, number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, passed_on) for number in numbers}
    try:
        return os.waitpid(child, 0)[1]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _told(number: int, limits: Limits | None) -> DataError:
    """How a process ended that a signal has ended."""
    where = f"{limits.path}: " if limits is not None else ""
    if limits is not None and number == signal.SIGXCPU:
        return DataError(
            f"{where}read for {limits.seconds} seconds of computing, and no end was in sight",
            hint="it may have been made so; if you trust it, use Python, where nothing is limited",
        )
    if number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        return DataError(f"{where}ended by {signal.Signals(number).name}", hint="run it again")
    how = "the process was ended"
    with suppress(ValueError):
        how = f"the process was ended by {signal.Signals(number).name}"
    memory = out_of("memory", how, ended=True)
    return DataError(where + memory.message, hint=memory.hint)
