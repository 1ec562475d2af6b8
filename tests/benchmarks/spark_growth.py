"""How a release in Spark grows with its table: seconds and CPU seconds of each phase.

    python tests/benchmarks/spark_growth.py 1000000 5000000

The table has eight quasi-identifiers with skewed values, a sensitive column and a measurement; it
is made by Spark itself. CPU seconds of the JVM and of Python are told apart, for wall time tells
little on a busy machine. Both run on this machine, with two threads of Spark.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import dbdeid

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


def spec() -> dict[str, Any]:
    """Ages in intervals, the others in prefixes of their code or not at all."""
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


def main(sizes: list[int]) -> None:
    folder = tempfile.mkdtemp()
    settings = {
        **{"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"},
        **{"spark.sql.warehouse.dir": folder, "spark.driver.memory": "4g"},
        **{"spark.sql.shuffle.partitions": "8", "spark.ui.showConsoleProgress": "false"},
        "spark.driver.maxResultSize": "2g",
    }
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    java = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    for rows in sizes:
        table(spark, rows)
        python, jvm, started = time.process_time(), cpu(java), time.perf_counter()
        found = dbdeid.run(spec(), connection=spark)
        told = {
            "rows": rows,
            "seconds": round(time.perf_counter() - started, 1),
            "python_cpu": round(time.process_time() - python, 1),
            "jvm_cpu": round(cpu(java) - jvm, 1),
            "python_peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
            "phases": dict(found.seconds),
            "transformation": dict(found.transformation),
            "classes": found.classes,
            "suppressed": found.suppressed_rows,
            "verified": found.verified,
        }
        print(json.dumps(told), flush=True)
    spark.stop()


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1_000_000])
