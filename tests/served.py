"""Commands in processes of their own that need not load dbdeid, for one that has is forked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

SERVER = Path(__file__).with_name("server.py")


@dataclass
class Ended:
    """How a process ended: its exit code, what it wrote, how long it took, how many steps."""

    code: int
    out: str
    err: str
    seconds: float
    steps: int = 0


@dataclass
class Server:
    """Forks processes that run dbdeid, and signals them."""

    told: Path
    _process: subprocess.Popen[str] = field(init=False)

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def run(
        self,
        folder: Path,
        *words: str,
        after: float | None = None,
        number: int = signal.SIGKILL,
        moment: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Ended:
        """Run a command, and signal it `after` seconds: since its start, or since its commit."""
        order = {
            "folder": str(folder),
            "words": words,
            "environment": dict(environment or {}),
            "moment": dict(moment or {}),
            "told": str(self.told),
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        started = time.monotonic()
        process = int(self._said("started"))
        if "commit" in order["moment"]:
            word, _, value = self._next().partition(" ")
            if word == "ended":
                raise AssertionError(f"ended with {value} before it committed")
        if after is not None:
            time.sleep(after)
            with suppress(ProcessLookupError):
                os.kill(process, number)
        steps = 0
        while True:
            word, _, value = self._next().partition(" ")
            if word == "steps":
                steps = int(value)
            if word == "ended":
                break
        seconds = time.monotonic() - started
        out, err = (Path(f"{self.told}.{n}").read_text() for n in ("out", "err"))
        return Ended(int(value), out, err, seconds, steps)

    def _next(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def _said(self, word: str) -> str:
        said, _, value = self._next().partition(" ")
        assert said == word
        return value
