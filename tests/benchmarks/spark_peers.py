"""A release in Spark beside that of polarfrost, the Mondrian for Spark that PyPI has.

    pip install . pyspark polarfrost
    python tests/benchmarks/spark_peers.py 100000 1000000

Both make the table of `spark_growth.py` k-anonymous in four quasi-identifiers, k = 10. polarfrost
divides all records in one task, writes a row for each class with its values of the sensitive
column, and checks nothing. Ours writes a row for each record, and is verified. Loss is the mean
over records and quasi-identifiers of the width of what is shown, as a share of the whole width;
a suppressed record loses all. CPU seconds are those of all processes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from polarfrost import mondrian_k_anonymity
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from spark_growth import cpu, spec, table

from dbdeid.release.run import run

KEYS = ("age", "zip", "occupation", "country")
K = 10


def processes(first: int) -> list[int]:
    """A process and all that it started."""
    found = [first]
    for task in Path(f"/proc/{first}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += processes(int(child))
    return found


def spent(java: int) -> float:
    """CPU seconds of this process, of Spark and of its workers until now."""
    return time.process_time() + sum(cpu(process) for process in processes(java))


def widths(people: DataFrame) -> dict[str, int]:
    """How wide each quasi-identifier is."""
    ends = [f.max(key) - f.min(key) for key in KEYS]
    row = people.select(*ends).first()
    assert row is not None
    return dict(zip(KEYS, row, strict=True))


def theirs(people: DataFrame, whole: dict[str, int]) -> dict[str, float]:
    """What polarfrost's release loses, and its classes."""
    schema = ", ".join(f"{name} string" for name in (*KEYS, "diagnosis", "count"))
    keys, empty = list(KEYS), people.sparkSession.createDataFrame([], schema)
    made = mondrian_k_anonymity(people, keys, "diagnosis", K, schema=empty.schema)
    made.write.mode("overwrite").saveAsTable("polarfrost")
    made = people.sparkSession.table("polarfrost")
    records = f.col("count").cast("bigint")
    ends = {key: f.split(key, "-") for key in KEYS}
    lost = sum((end[1].cast("int") - end[0].cast("int")) / whole[k] for k, end in ends.items())
    row = made.select(
        f.sum(records * lost) / f.sum(records) / len(KEYS), f.count("*"), f.min(records)
    ).first()
    assert row is not None
    return {"loss": round(row[0], 4), "classes": row[1], "smallest": row[2]}


def ours(people: DataFrame, whole: dict[str, int]) -> dict[str, float]:
    """What our release loses, and its classes."""
    asked = spec(len(KEYS)) | {"privacy": [{"model": "k_anonymity", "k": K}]}
    found = run(asked, people.sparkSession)
    assert found.verified
    made = people.sparkSession.table("people_public")
    shown = people.sparkSession.table("people_public_dictionary")
    lost = 0.0
    for key in KEYS:
        own = shown.where(shown["column"] == key)
        width = (own["upper"] - own["lower"]).cast("double") / whole[key]
        own = own.select(own["released_value"].alias(key), width.alias("width"))
        made_of = made.withColumn(key, made[key].cast("string")).join(f.broadcast(own), key, "left")
        row = made_of.select(f.sum(f.coalesce("width", f.lit(1.0)))).first()
        assert row is not None
        lost += row[0] / len(KEYS)
    lost = (lost + found.suppressed_rows) / people.count()
    return {"loss": round(lost, 4), "classes": found.classes, "suppressed": found.suppressed_rows}


def main(sizes: list[int]) -> None:
    """Print a line of JSON for each size and tool."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": tempfile.mkdtemp(),
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "8",
        "spark.ui.showConsoleProgress": "false",
    }
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    java = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    for rows in sizes:
        table(spark, rows)
        people = spark.table("people")
        whole = widths(people)
        for name, release in (("polarfrost", theirs), ("dbdeid", ours)):
            started, before = time.perf_counter(), spent(java)
            found = release(people, whole)
            seconds = round(time.perf_counter() - started, 1)
            told = {"rows": rows, "tool": name, "seconds": seconds}
            print(json.dumps(told | {"cpu": round(spent(java) - before, 1)} | found), flush=True)
    spark.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="*", default=[100_000])
    main(parser.parse_args().rows)
