"""Work in the background: one piece at a time, with its progress, ended on request."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from dbdeid.errors import DataError
from dbdeid.ui.background.work import Task

State = Literal["running", "done", "failed", "cancelled"]
PROGRAM = "from dbdeid.cli.ui import work; work()"
PATIENCE = 20.0  # seconds that work has to end after it was asked to


@dataclass(slots=True)
class Job:
    """A piece of work that was begun.

    Attributes:
        task: what it is.
        version: of the specification that it was begun with.
        state: how it stands.
        line: what it does just now.
        result: what came of it; None until it is done.
        error: why it failed, with what to do.
        started: when, on the clock of `time.monotonic`.
        seconds: that it took; None while it runs.
    """

    task: Task
    version: str
    state: State = "running"
    line: str = "starting"
    result: Mapping[str, Any] | None = None
    error: str = ""
    started: float = field(default_factory=time.monotonic)
    seconds: float | None = None
    _ended: threading.Event = field(default_factory=threading.Event)

    @property
    def what(self) -> str:
        """What kind of work."""
        return self.task.what

    def end(
        self, state: State, *, result: Mapping[str, Any] | None = None, error: str = ""
    ) -> None:
        """Note how it ended."""
        self.result, self.error = result, error
        self.seconds = time.monotonic() - self.started
        self.state = state
        self._ended.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has ended; whether it has."""
        return self._ended.wait(seconds)


class Worker(Protocol):
    """Begins work, and ends it early."""

    def begin(self, job: Job) -> Callable[[], None]:
        """Begin the work, and return a function that asks it to stop."""


@dataclass(slots=True)
class Jobs:
    """The work of a desk: one piece runs, the last of each kind is remembered.

    Attributes:
        worker: that does it.
        last: by the kind of work.
    """

    worker: Worker
    last: dict[str, Job] = field(default_factory=dict)
    _running: Job | None = None
    _cancel: Callable[[], None] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def running(self) -> Job | None:
        """What runs just now."""
        job = self._running
        return job if job is not None and job.state == "running" else None

    def begin(self, task: Task, version: str) -> Job:
        """Begin a piece of work.

        Raises:
            DataError: another one runs.
        """
        with self._lock:
            if (other := self.running) is not None:
                raise DataError(
                    f"{other.what.replace('_', ' ')} still runs",
                    hint="wait for it, or cancel it first",
                )
            job = Job(task, version)
            self.last[task.what] = self._running = job
            self._cancel = self.worker.begin(job)
        return job

    def cancel(self) -> None:
        """Ask what runs to end; it leaves nothing half-done."""
        with self._lock:
            if self.running is not None and self._cancel is not None:
                self._cancel()

    def close(self) -> None:
        """End what runs, and wait for it."""
        job = self.running
        self.cancel()
        if job is not None:
            job.wait(PATIENCE)


class Processes:
    """Each piece of work in a process of its own, which ends as a command does by Ctrl-C."""

    def begin(self, job: Job) -> Callable[[], None]:
        """Start the process, and follow what it says."""
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.write(json.dumps(job.task.to_dict()) + "\n")
            process.stdin.flush()  # it stays open: when this server is gone, it closes
        asked = threading.Event()
        threading.Thread(target=_follow, args=(job, process, asked), daemon=True).start()

        def cancel() -> None:
            asked.set()
            job.line = "ending"
            with suppress(OSError):
                process.send_signal(signal.SIGINT)

        return cancel


def _follow(job: Job, process: subprocess.Popen[str], asked: threading.Event) -> None:
    ended: Mapping[str, Any] | None = None
    assert process.stdout is not None
    with suppress(OSError, ValueError):
        for line in process.stdout:
            said = json.loads(line)
            if "progress" in said:
                job.line = str(said["progress"])
            else:
                ended = said
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    if ended is not None and "done" in ended:
        job.end("done", result=ended["done"])
    elif asked.is_set():
        job.end("cancelled", error="cancelled; nothing was changed")
    elif ended is not None and "failed" in ended:
        job.end("failed", error=str(ended["failed"]))
    else:
        job.end(
            "failed", error="the process ended without a word\n  Hint: was it killed? Try again"
        )
