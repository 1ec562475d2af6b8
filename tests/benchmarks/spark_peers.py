"""A release in Spark beside that of the published Mondrian for Spark.

    git clone https://github.com/mosaicrown/mondrian
    pip install '.[spark]' treelib scipy pandas binpacking
    python tests/benchmarks/spark_peers.py --mondrian mondrian/distributed 100000

That is the program of De Capitani di Vimercati, Facchinetti, Foresti, Livraga, Oldani, Paraboschi,
Rossi & Samarati, *Scalable distributed data anonymization for large datasets* (IEEE Transactions on
Big Data 9(3), 2023). Both take the table of `spark_growth.py` from Parquet: four quasi-identifiers,
k = 10 and three diagnoses in each class. Theirs cuts the records into two fragments and each into
blocks, in pandas, and checks no written record; ours chooses levels, or free intervals for blocks
of records, and verifies what it wrote.
Loss is the mean over records and quasi-identifiers of the width of what is shown, as a share of the
whole width; a suppressed record loses all. CPU seconds are those of all processes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from spark_growth import cpu, spec, table

from dbdeid.release.run import run

KEYS = ("age", "zip", "occupation", "country")
K, L = 10, 3


def processes(first: int) -> list[int]:
    """A process and all that it started."""
    found = [first]
    with suppress(OSError):  # one has just ended
        for task in Path(f"/proc/{first}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += processes(int(child))
    return found


class Spent:
    """CPU seconds of a process and of all that it starts, from now until the end."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._known: dict[int, float] = {}
        self._look()
        self._before = sum(self._known.values())
        self._ended = Event()
        self._thread = Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        for process in processes(self._first):
            with suppress(OSError):
                self._known[process] = cpu(process)

    def _follow(self) -> None:
        while not self._ended.wait(0.05):
            self._look()

    def end(self) -> float:
        """The seconds."""
        self._ended.set()
        self._thread.join()
        self._look()
        return round(sum(self._known.values()) - self._before, 1)


def widths(people: DataFrame) -> dict[str, int]:
    """How wide each quasi-identifier is."""
    ends = [f.max(key) - f.min(key) for key in KEYS]
    row = people.select(*ends).first()
    assert row is not None
    return dict(zip(KEYS, row, strict=True))


def theirs(folder: Path, program: Path) -> Path:
    """Run the other program, and give the folder of its release."""
    job, out = folder / "job.json", folder / "mondrian.parquet"
    asked = {
        "input": str(folder / "people.parquet"),
        "output": str(out),
        "quasiid_columns": list(KEYS),
        "sensitive_columns": ["diagnosis"],
        "column_score": "norm_span",
        "fragmentation": "quantile",
        "K": K,
        "L": L,
    }
    job.write_text(json.dumps(asked))
    settings = "--master local[2] --driver-memory 4g --conf spark.ui.enabled=false pyspark-shell"
    modules = os.pathsep.join(map(str, (program / "mondrian", os.environ.get("PYTHONPATH", ""))))
    environment = os.environ | {
        "PYSPARK_SUBMIT_ARGS": settings,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": modules,
    }
    words = [sys.executable, program / "anonymize.py", job, "2", "0", "0"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return out


def judged(made: DataFrame, whole: dict[str, int]) -> dict[str, float]:
    """What a release of the other program loses, and its classes: `[12-15]` or `12`."""
    lost: Column = f.lit(0.0)
    for key in KEYS:
        ends = f.split(f.regexp_replace(key, r"[\[\]]", ""), "-")
        last = f.element_at(ends, -1).cast("double") - f.element_at(ends, 1).cast("double")
        lost = lost + last / whole[key] / len(KEYS)
    sizes = made.groupBy(*KEYS).agg(
        f.count("*").alias("n"), f.count_distinct("diagnosis").alias("l")
    )
    row = sizes.select(f.count("*"), f.min("n"), f.min("l")).first()
    loss = made.select(f.avg(lost)).first()
    assert row is not None
    assert loss is not None
    found = dict(zip(("classes", "smallest", "fewest"), row, strict=True))
    return {"loss": round(loss[0], 4)} | found


def ours(people: DataFrame, whole: dict[str, int], method: str) -> dict[str, float]:
    """What our release loses, and its classes."""
    asked = spec(len(KEYS))
    if method == "free blocks":
        free = {
            "role": "quasi_identifier",
            "hierarchy": "free",
            "accept": ["looks_like_identifier"],
            "reason": "made up",
        }
        asked["columns"] |= dict.fromkeys(KEYS, free)
        asked["method"] = "local_recoding"
    found = run(asked, people.sparkSession)
    assert found.verified
    made = people.sparkSession.table("people_public")
    shown = people.sparkSession.table("people_public_dictionary")
    lost = 0.0
    for key in KEYS:
        own = shown.where(shown["column"] == key)
        width = own["upper"].cast("double") - own["lower"].cast("double")
        own = own.select(own["released_value"].alias(key), (width / whole[key]).alias("width"))
        made_of = made.withColumn(key, made[key].cast("string")).join(f.broadcast(own), key, "left")
        row = made_of.select(f.sum(f.coalesce("width", f.lit(1.0)))).first()
        assert row is not None
        lost += row[0] / len(KEYS)
    lost = (lost + found.suppressed_rows) / people.count()
    return {"loss": round(lost, 4), "classes": found.classes, "suppressed": found.suppressed_rows}


def main(sizes: list[int], program: Path) -> None:
    """Print a line of JSON for each size and program."""
    folder = Path(tempfile.mkdtemp())
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "8",
        "spark.ui.showConsoleProgress": "false",
    }
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    for rows in sizes:
        table(spark, rows)
        people = spark.table("people")
        whole = widths(people)
        for method in ("levels", "free blocks"):
            spent, started = Spent(os.getpid()), time.perf_counter()
            found = ours(people, whole, method)
            told(rows, f"dbdeid, {method}", time.perf_counter() - started, spent, found)
        people.write.mode("overwrite").parquet(str(folder / "people.parquet"))
        spent, started = Spent(os.getpid()), time.perf_counter()
        out = theirs(folder, program)
        seconds = time.perf_counter() - started
        told(rows, "mondrian", seconds, spent, judged(spark.read.parquet(str(out)), whole))
    spark.stop()


def told(rows: int, name: str, seconds: float, spent: Spent, found: dict[str, float]) -> None:
    """Print a line."""
    costs = {"rows": rows, "program": name, "seconds": round(seconds, 1), "cpu": spent.end()}
    print(json.dumps(costs | found), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="*", default=[100_000])
    parser.add_argument("--mondrian", type=Path, required=True)
    given = parser.parse_args()
    main(given.rows, given.mondrian.resolve())
