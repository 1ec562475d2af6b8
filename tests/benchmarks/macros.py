"""Macros against hand-written SQL on 1.19 million rows; prints seconds and their ratio.

    python tests/benchmarks/macros.py [ihis_like.parquet]

Each figure is the best of three, wall seconds; both sides run on the same connection.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import duckdb

from dbdeid.engine import macros

DATA = Path(__file__).resolve().parents[3] / "shared/data"
QIS = ["YEAR", "QUARTER", "REGION", "AGE", "SEX", "MARSTAT", "RACEA", "EDUC"]
COLUMNS = ", ".join(QIS)
CLASSES = f"(SELECT count(*) AS n FROM t GROUP BY {COLUMNS})"
SAME = " AND ".join(f"t.{name} IS NOT DISTINCT FROM c.{name}" for name in QIS)
LIST = str(QIS)

PAIRS = {
    "classes": (
        f"CREATE OR REPLACE TEMP TABLE o AS FROM deid.classes('t', {LIST})",
        f"CREATE OR REPLACE TEMP TABLE o AS SELECT {COLUMNS}, count(*) FROM t GROUP BY {COLUMNS}",
    ),
    "histogram": (
        f"FROM deid.histogram('t', {LIST})",
        f"SELECT n, count(*), n * count(*) FROM {CLASSES} GROUP BY n ORDER BY n",
    ),
    "risk": (
        f"FROM deid.risk('t', {LIST})",
        f"SELECT sum(n), count(*), min(n), 1 / min(n), count(*) / sum(n), "
        f"count(*) FILTER (n = 1), sum(n) FILTER (n < 5) FROM {CLASSES}",
    ),
    "discernibility": (
        f"FROM deid.discernibility('t', {LIST}, k := 5)",
        f"SELECT sum(n * n) FILTER (n >= 5) + sum(n) FILTER (n < 5) * sum(n) FROM {CLASSES}",
    ),
    "average_class_size": (
        f"FROM deid.average_class_size('t', {LIST})",
        f"SELECT avg(n) FROM {CLASSES}",
    ),
    "k": (f"SELECT deid.k('t', {LIST})", f"SELECT min(n) FROM {CLASSES}"),
    "check": (
        f"""FROM deid."check"('t', {LIST}, 1)""",
        f"SELECT sum(n), count(*), min(n) FROM {CLASSES}",
    ),
    "annotate": (
        f"CREATE OR REPLACE TEMP TABLE o AS FROM deid.annotate('t', {LIST})",
        f"CREATE OR REPLACE TEMP TABLE o AS "
        f"SELECT *, count(*) OVER (PARTITION BY {COLUMNS}) AS n FROM t",
    ),
    "suppress": (
        f"CREATE OR REPLACE TEMP TABLE o AS FROM deid.suppress('t', {LIST}, k := 5)",
        f"CREATE OR REPLACE TEMP TABLE o AS SELECT t.* FROM t JOIN (SELECT {COLUMNS} FROM t "
        f"GROUP BY {COLUMNS} HAVING count(*) >= 5) AS c ON {SAME}",
    ),
    "generalize, 1 column": (
        "CREATE OR REPLACE TEMP TABLE o AS "
        "SELECT * REPLACE (deid.generalize(AGE, 'AGE', 2) AS AGE) FROM t",
        "CREATE OR REPLACE TEMP TABLE o AS SELECT t.* REPLACE (h.label AS AGE) FROM t "
        "JOIN deid.hierarchies AS h ON CAST(t.AGE AS VARCHAR) = h.value "
        "AND h.hierarchy = 'AGE' AND h.level = 2",
    ),
    "generalize, 2 columns": (
        "CREATE OR REPLACE TEMP TABLE o AS SELECT * REPLACE (deid.generalize(AGE, 'AGE', 2) AS AGE,"
        " deid.generalize(MARSTAT, 'MARSTAT', 1) AS MARSTAT) FROM t",
        "CREATE OR REPLACE TEMP TABLE o AS "
        "SELECT t.* REPLACE (h.label AS AGE, m.label AS MARSTAT) FROM t "
        "JOIN deid.hierarchies AS h ON CAST(t.AGE AS VARCHAR) = h.value "
        "AND h.hierarchy = 'AGE' AND h.level = 2 "
        "JOIN deid.hierarchies AS m ON CAST(t.MARSTAT AS VARCHAR) = m.value "
        "AND m.hierarchy = 'MARSTAT' AND m.level = 1",
    ),
    "loss": (
        "FROM deid.loss('r', ['AGE', 'MARSTAT'], levels := MAP {'AGE': 2, 'MARSTAT': 1})",
        "SELECT (SELECT sum(loss) FROM (SELECT AGE, count(*) AS n FROM r GROUP BY AGE) JOIN "
        "(SELECT DISTINCT label, loss FROM deid.hierarchies WHERE hierarchy = 'AGE' AND level = 2) "
        "ON AGE = label), (SELECT sum(loss) FROM (SELECT MARSTAT, count(*) AS n FROM r "
        "GROUP BY MARSTAT) JOIN (SELECT DISTINCT label, loss FROM deid.hierarchies "
        "WHERE hierarchy = 'MARSTAT' AND level = 1) ON MARSTAT = label)",
    ),
    "bin": (
        "CREATE OR REPLACE TEMP TABLE o AS SELECT deid.bin(AGE, 5) AS age FROM t",
        "CREATE OR REPLACE TEMP TABLE o AS SELECT AGE // 5 * 5 AS age FROM t",
    ),
    "interval_label": (
        "CREATE OR REPLACE TEMP TABLE o AS SELECT deid.interval_label(AGE, 5) AS age FROM t",
        "CREATE OR REPLACE TEMP TABLE o AS "
        "SELECT '[' || AGE // 5 * 5 || ', ' || AGE // 5 * 5 + 5 || ')' AS age FROM t",
    ),
}


def seconds(con: duckdb.DuckDBPyConnection, query: str) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        con.execute(query).fetchall()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    file = sys.argv[1] if len(sys.argv) > 1 else DATA / "synth/ihis_like.parquet"
    with duckdb.connect() as con:
        macros.install(con)
        con.execute(f"CREATE TABLE t AS FROM '{file}'")
        for name in ("AGE", "MARSTAT"):
            hierarchy = DATA / f"hierarchies/ihis_int/ihis_int_hierarchy_{name}.csv"
            con.execute(
                f"INSERT INTO deid.hierarchies FROM deid.read_hierarchy('{hierarchy}', '{name}')"
            )
        con.execute(
            "CREATE TABLE r AS SELECT deid.generalize(AGE, 'AGE', 2) AS AGE, "
            "deid.generalize(MARSTAT, 'MARSTAT', 1) AS MARSTAT FROM t"
        )
        ((records, threads),) = con.execute(
            "SELECT count(*), current_setting('threads') FROM t"
        ).fetchall()
        print(f"DuckDB {duckdb.__version__}, {records:,} rows, {len(QIS)} QIs, {threads} threads")
        print(f"{'macro':24}{'macro s':>10}{'by hand s':>12}{'ratio':>8}")
        for name, (macro, hand) in PAIRS.items():
            ours, theirs = seconds(con, macro), seconds(con, hand)
            print(f"{name:24}{ours:10.3f}{theirs:12.3f}{ours / theirs:8.2f}")


if __name__ == "__main__":
    main()
