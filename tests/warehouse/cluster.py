"""A standalone cluster of Spark on this machine: one master and two workers, each a process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

WAIT = 90  # seconds in which each of them has to start on a busy machine
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_HERE = "127.0.0.1"


class Cluster:
    """The cluster, in a folder of its own.

    Args:
        folder: where its logs and the work of its executors are.

    Attributes:
        address: of the master.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._workers: dict[int, subprocess.Popen[bytes]] = {}
        log = self._start("master", _MASTER, "--host", _HERE, "--port", "0", "--webui-port", "0")
        self.address = self._told(log, r"Starting Spark master at (spark://\S+)")

    @property
    def workers(self) -> tuple[int, ...]:
        """The numbers of the workers that are there."""
        return tuple(self._workers)

    def add_worker(self) -> int:
        """One worker more, with one core; its number."""
        number = len(self._processes)
        log = self._start(
            *(f"worker-{number}", _WORKER, "--host", _HERE, "--cores", "1", "--memory", "600m"),
            *("--webui-port", "0", "--work-dir", str(self._folder / f"work-{number}")),
            self.address,
        )
        self._told(log, r"(Successfully registered) with master")
        self._workers[number] = self._processes[-1]
        return number

    def kill_worker(self, number: int) -> None:
        """Kill a worker with its executor, at once."""
        process = self._workers.pop(number)
        for child in _children(process.pid):
            os.kill(child, signal.SIGKILL)
        process.kill()
        process.wait()

    def stop(self) -> None:
        """End what is still there."""
        for number in list(self._workers):
            self.kill_worker(number)
        for process in self._processes:
            process.kill()
            process.wait()

    def _start(self, name: str, *command: str) -> Path:
        spec = find_spec("pyspark")
        assert spec is not None
        assert spec.origin is not None
        home = Path(spec.origin).parent
        own = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": _HERE, "SPARK_DAEMON_MEMORY": "256m"}
        log = self._folder / f"{name}.log"
        with log.open("wb") as written:
            process = subprocess.Popen(
                [home / "bin" / "spark-class", *command],
                stdout=written,
                stderr=subprocess.STDOUT,
                env={**os.environ, **own},
                cwd=self._folder,
            )
        self._processes.append(process)
        return log

    def _told(self, log: Path, pattern: str) -> str:
        until = time.monotonic() + WAIT
        while time.monotonic() < until:
            if found := re.search(pattern, log.read_text(errors="replace")):
                return found[1]
            time.sleep(0.1)
        raise AssertionError(f"not started in {WAIT} s: {log.read_text(errors='replace')[-2000:]}")


def _children(process: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    own = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [one for child in map(int, own) for one in (child, *_children(child))]


@contextmanager
def started(folder: Path) -> Iterator[Cluster]:
    """A cluster, which is gone at the end."""
    cluster = Cluster(folder)
    try:
        yield cluster
    finally:
        cluster.stop()
