"""How a release in Spark grows with its table: seconds, CPU seconds and memory of each phase.

    python tests/benchmarks/spark_growth.py 1000000 5000000
    python tests/benchmarks/spark_growth.py 5000000 --keys 4

The table has up to eight quasi-identifiers with skewed values, a sensitive column and a
measurement; it is made by Spark itself. CPU seconds of the JVM and of Python are told apart, for
wall time tells little on a busy machine. The memory of a phase is the most that Python's process
had in it, without the JVM. Give one size a run to compare memory: what was free once stays with the
process. Both run on this machine, with two threads of Spark.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from dbdeid.engine.session import Settings
from dbdeid.release.run import run

# Each from a uniform number, squared for the skew.
_SKEWED = {"age": (90, 11), "zip": (400, 13), "occupation": (60, 17), "country": (40, 19)}
_MORE = {"education": (16, 23), "marital": (6, 29), "sex": (2, 31), "race": (5, 37)}


def table(spark: SparkSession, rows: int) -> None:
    """The table `people`."""
    cells = [
        f"CAST(floor({size} * pow(rand({seed}), 2)) AS INT) AS {name}"
        for name, (size, seed) in (_SKEWED | _MORE).items()
    ]
    cells.append("concat('d', CAST(floor(100 * rand(41)) AS INT)) AS diagnosis")
    cells.append("rand(43) AS dose")
    made = spark.range(rows).selectExpr(*cells).repartition(8)
    made.write.mode("overwrite").format("parquet").saveAsTable("people")


def spec(keys: int) -> dict[str, Any]:
    """Ages in intervals, the others in ranges of their code or not at all."""
    qi = "quasi_identifier"
    columns: dict[str, Any] = {
        "age": {"role": qi, "hierarchy": {"intervals": [5, 10, 20, 40]}},
        "zip": {"role": qi, "hierarchy": {"intervals": [10, 50, 200]}},
        "occupation": {"role": qi, "hierarchy": {"intervals": [5, 20]}},
        "country": {"role": qi, "hierarchy": {"intervals": [5, 20]}},
        "diagnosis": "sensitive",
        "dose": {"role": "insensitive", "reason": "made up"},
    }
    columns |= {name: {"role": qi, "hierarchy": "suppress"} for name in _MORE}
    columns |= dict.fromkeys([*_SKEWED, *_MORE][keys:], "drop")
    return {
        "release": "people_public",
        "source": "people",
        "columns": columns,
        "privacy": [
            {"model": "k_anonymity", "k": 10},
            {"model": "l_diversity", "column": "diagnosis", "l": 3},
        ],
        "method": {"name": "full_domain", "suppression_limit": 0.05},
        "evaluate": {"metrics": ["loss"]},
        "accept": "rows",
    }


def cpu(process: int) -> float:
    """CPU seconds of a process until now."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Memory:
    """The most memory of this process in each phase, in GB."""

    def __init__(self) -> None:
        self.peaks: dict[str, float] = {}
        self._phase = "before"

    def __call__(self, phase: str, progress: object) -> None:
        """A phase begins, or goes on."""
        if progress is not None:
            return
        self.end()
        self._phase = phase

    def end(self) -> None:
        """The phase is over."""
        told = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
        assert told is not None
        self.peaks[self._phase] = round(int(told[1]) / 2**20, 2)
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew


def main(sizes: list[int], keys: int, limit: str | None) -> None:
    """Print one line of JSON for each size."""
    folder = tempfile.mkdtemp()
    settings = {
        **{"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"},
        **{
            "spark.sql.warehouse.dir": folder,
            "spark.driver.memory": "6g",
        },
        **{"spark.sql.shuffle.partitions": "8", "spark.ui.showConsoleProgress": "false"},
        "spark.driver.maxResultSize": "4g",
    }
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    java = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    for rows in sizes:
        table(spark, rows)
        python, jvm, started = time.process_time(), cpu(java), time.perf_counter()
        memory = Memory()
        found = run(spec(keys), spark, notify=memory, settings=Settings(memory_limit=limit))
        memory.end()
        counted = [*[*_SKEWED, *_MORE][:keys], "diagnosis"]
        told = {
            "rows": rows,
            "combinations": spark.table("people").select(*counted).distinct().count(),
            "seconds": round(time.perf_counter() - started, 1),
            "python_cpu": round(time.process_time() - python, 1),
            "jvm_cpu": round(cpu(java) - jvm, 1),
            "python_peak_gb": max(memory.peaks.values()),
            "peaks_gb": memory.peaks,
            "phases": dict(found.seconds),
            "transformation": dict(found.transformation),
            "classes": found.classes,
            "suppressed": found.suppressed_rows,
            "verified": found.verified,
        }
        print(json.dumps(told), flush=True)
    spark.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--keys", type=int, default=8)
    parser.add_argument("--memory-limit", help="of DuckDB, which has the counts here")
    given = parser.parse_args()
    main(given.rows, given.keys, given.memory_limit)
