"""Releases on a standalone cluster that loses a worker, in a process of their own.

    python tests/warehouse/cluster_run.py FOLDER

One Python process has one driver of Spark, and that of the tests is another. It prints what it
found as JSON.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster import Cluster, started
from pyspark.sql import SparkSession
from spark_releases import counted, lent, people, released, spec

import dbdeid
import dbdeid.release.warehouse_run as there
from dbdeid.engine.spark.warehouse import Spark

RECORDS = 20_000


def session(cluster: Cluster, folder: Path) -> SparkSession:
    """A driver of the cluster."""
    settings = {
        **{"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"},
        **{"spark.driver.memory": "1g", "spark.executor.memory": "512m"},
        **{"spark.sql.warehouse.dir": str(folder / "tables"), "spark.sql.shuffle.partitions": "8"},
        **{"spark.ui.showConsoleProgress": "false", "spark.sql.adaptive.enabled": "false"},
    }
    found = SparkSession.builder.master(cluster.address).config(map=settings).getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def executors(spark: SparkSession) -> int:
    """How many executors the driver knows; it counts as one."""
    return int(spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1


def wait_for(what: Callable[[], bool], seconds: float = 90) -> None:
    """Wait until something is so."""
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


class Losing:
    """Kills a worker while tasks run."""

    def __init__(self, spark: SparkSession, cluster: Cluster, worker: int) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._cluster, self._worker = cluster, worker
        self.active = 0

    def _tasks(self) -> int:
        stages = map(self._tracker.getStageInfo, self._tracker.getActiveStageIds())
        return sum(stage.numActiveTasks for stage in stages if stage is not None)

    def __call__(self) -> None:
        wait_for(lambda: self._tasks() > 0)
        self.active = self._tasks()
        self._cluster.kill_worker(self._worker)


@contextmanager
def during(owner: Any, name: str, losing: Losing) -> Iterator[None]:
    """Lose a worker while a function is at work for the first time."""
    made = getattr(owner, name)
    threads: list[threading.Thread] = []

    def watched(*given: Any, **more: Any) -> Any:
        if not threads:
            threads.append(threading.Thread(target=losing))
            threads[0].start()
        try:
            return made(*given, **more)
        finally:
            threads[0].join()

    setattr(owner, name, watched)
    try:
        yield
    finally:
        setattr(owner, name, made)


def main(folder: Path) -> None:
    """Release once undisturbed, then with a worker lost in each phase."""
    told: dict[str, Any] = {}
    with started(folder) as cluster:
        for _ in range(2):
            cluster.add_worker()
        spark = session(cluster, folder)
        wait_for(lambda: executors(spark) == 2)
        lent(spark, "visits", people(RECORDS, seed=3))
        first = dbdeid.run(spec(), connection=spark)
        whole = counted(released(spark, "visits_public"))
        told["undisturbed"] = {"rows": first.released_rows, "verified": first.verified}
        for name, owner, function in (
            ("write", Spark, "write"),
            ("verify", there, "verify_there"),
        ):
            worker = max(cluster.workers)
            losing = Losing(spark, cluster, worker)
            with during(owner, function, losing):
                found = dbdeid.run(spec(), connection=spark)
            same = counted(released(spark, "visits_public")) == whole
            tables = sorted(t.name for t in spark.catalog.listTables() if not t.isTemporary)
            told[name] = {
                **{"rows": found.released_rows, "verified": found.verified, "same": same},
                **{"active": losing.active, "workers": len(cluster.workers), "tables": tables},
            }
            cluster.add_worker()
            wait_for(lambda: executors(spark) == 2)
        for worker in list(cluster.workers):
            cluster.kill_worker(worker)
        spark.stop()
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
