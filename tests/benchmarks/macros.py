"""Macros against hand-written SQL on 1.19 million rows; prints seconds and their ratio.

    python tests/benchmarks/macros.py [ihis_like.parquet]

Each figure is the best of five, wall and CPU seconds of the process; both sides run on the same
connection. The macros of the sensitive column run over six quasi-identifiers (275,256 classes),
with a column of 26 values, and with one of 10,000 numbers where that is said.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import duckdb

from dbdeid.engine.duckdb import macros

DATA = Path(__file__).resolve().parents[3] / "shared/data"
QIS = ["YEAR", "QUARTER", "REGION", "AGE", "SEX", "MARSTAT", "RACEA", "EDUC"]
COLUMNS = ", ".join(QIS)
CLASSES = f"(SELECT count(*) AS n FROM t GROUP BY {COLUMNS})"
SAME = " AND ".join(f"t.{name} IS NOT DISTINCT FROM c.{name}" for name in QIS)
LIST = str(QIS)

SIX = QIS[:6]
SIX_LIST, SIX_COLUMNS = str(SIX), ", ".join(SIX)


def counted(value: str) -> str:
    """The values of each class."""
    return f"(SELECT {SIX_COLUMNS}, {value} AS v, count(*) AS n FROM t GROUP BY ALL)"


def shared(value: str) -> str:
    """The values of the table, with their place, share, running share and the sum of these."""
    return f"""(SELECT *, sum(upto) OVER (ORDER BY place) AS area FROM (
      SELECT v, n / sum(n) OVER () AS share, row_number() OVER (ORDER BY v) AS place,
        sum(n) OVER (ORDER BY v) / sum(n) OVER () AS upto
      FROM (SELECT {value} AS v, count(*) AS n FROM t GROUP BY v)))"""


def equal(value: str) -> str:
    return f"""SELECT count(*), max(list_sum(list_transform(list_zip(ns, qs),
      lambda x: greatest(x[1] / size - x[2], 0)))) FROM (
      SELECT sum(n) AS size, list(n) AS ns, list(share) AS qs
      FROM {counted(value)} AS c JOIN {shared(value)} AS w ON c.v = w.v
      GROUP BY {SIX_COLUMNS})"""


def ordered(value: str, dense: bool = False) -> str:
    """Sparse as in the macro, or with a place for every value in every class."""
    if dense:
        return f"""SELECT count(*), max(t) FROM (
          SELECT list_sum(list_transform(ups, lambda q, i: abs(
            list_sum(list_transform(values, lambda e: CASE WHEN e[1] <= i THEN e[2] ELSE 0 END))
            / size - q))) / (len(ups) - 1) AS t
          FROM (SELECT sum(n) AS size, list([place, n]) AS values
            FROM {counted(value)} AS c JOIN {shared(value)} AS w ON c.v = w.v
            GROUP BY {SIX_COLUMNS}),
            (SELECT list(upto ORDER BY place) AS ups FROM {shared(value)}))"""
    return f"""WITH w AS MATERIALIZED {shared(value)}, c AS (
        SELECT *, sum(n) OVER by_value / sum(n) OVER (PARTITION BY {SIX_COLUMNS}) AS held,
          lead(place - 1, 1, (SELECT count(*) FROM w)) OVER by_value AS last,
          lead(area - upto, 1, (SELECT sum(upto) FROM w)) OVER by_value AS area_last
        FROM {counted(value)} AS c JOIN w ON c.v = w.v
        WINDOW by_value AS (PARTITION BY {SIX_COLUMNS} ORDER BY place)
      ), x AS (
        SELECT c.*, greatest(least(coalesce(w.place, 0), last), c.place - 1) AS cross_,
          greatest(least(coalesce(w.area, 0), area_last), c.area - c.upto) AS area_cross
        FROM c ASOF LEFT JOIN w ON c.held >= w.upto
      )
      SELECT count(*), max(t) FROM (
        SELECT (min(area - upto) + sum(held * (2 * cross_ - (place - 1) - last)
          + (area - upto) + area_last - 2 * area_cross)) / (SELECT count(*) - 1 FROM w) AS t
        FROM x GROUP BY {SIX_COLUMNS})"""


BY_CLASS = f"""(SELECT list_reverse_sort(list(n)) AS counts, sum(n) AS size, count(*) AS m,
  max(n) AS most, sum(n * ln(n)) AS weighted FROM {counted("EDUC")} GROUP BY {SIX_COLUMNS})"""

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
    "k, 6 QIs": (
        f"SELECT deid.k('t', {SIX_LIST})",
        f"SELECT min(n) FROM (SELECT count(*) AS n FROM t GROUP BY {SIX_COLUMNS})",
    ),
    "l_diversity": (
        f"FROM deid.l_diversity('t', {SIX_LIST}, 'EDUC')",
        f"SELECT count(*), min(size), min(m), min(exp(ln(size) - weighted / size)), "
        f"max(counts[1] / list_sum(counts[l:])) "
        f"FROM (SELECT *, min(m) OVER () AS l FROM {BY_CLASS})",
    ),
    "disclosure": (
        f"FROM deid.disclosure('t', {SIX_LIST}, 'EDUC')",
        f"SELECT count(*), count(*) FILTER (m = 1), sum(size) FILTER (m = 1), "
        f"count(*) FILTER (m = 2), sum(size) FILTER (m = 2), max(most / size) FROM {BY_CLASS}",
    ),
    "t_closeness": (f"FROM deid.t_closeness('t', {SIX_LIST}, 'EDUC')", equal("EDUC")),
    "t_closeness, 10,000": (f"FROM deid.t_closeness('t', {SIX_LIST}, 'number')", equal("number")),
    "t_closeness_ordered": (
        f"FROM deid.t_closeness_ordered('t', {SIX_LIST}, 'EDUC')",
        ordered("EDUC"),
    ),
    "ordered, by hand dense": (
        f"FROM deid.t_closeness_ordered('t', {SIX_LIST}, 'EDUC')",
        ordered("EDUC", dense=True),
    ),
    "ordered, 10,000": (
        f"FROM deid.t_closeness_ordered('t', {SIX_LIST}, 'number')",
        ordered("number"),
    ),
    "kl, 3 columns": (
        "FROM deid.kl('t', 'r', ['SEX', 'EDUC', 'RACEA'])",
        "SELECT sum(p * ln(p / q)) FROM ("
        "SELECT SEX, EDUC, RACEA, count(*) / (SELECT count(*) FROM t) AS p FROM t GROUP BY ALL) "
        "JOIN (SELECT SEX, EDUC, RACEA, count(*) / (SELECT count(*) FROM r) AS q FROM r "
        "GROUP BY ALL) USING (SEX, EDUC, RACEA)",
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
    "interval_label, limits": (
        "CREATE OR REPLACE TEMP TABLE o AS "
        "SELECT deid.interval_label(AGE, 5, lower := 20, upper := 80) AS age FROM t",
        "CREATE OR REPLACE TEMP TABLE o AS SELECT CASE WHEN AGE < 20 THEN '< 20' "
        "WHEN AGE >= 80 THEN '>= 80' "
        "ELSE '[' || AGE // 5 * 5 || ', ' || AGE // 5 * 5 + 5 || ')' END AS age FROM t",
    ),
    "interval_label, double": (
        "CREATE OR REPLACE TEMP TABLE o AS SELECT deid.interval_label(amount, 5) AS a FROM t",
        "CREATE OR REPLACE TEMP TABLE o AS SELECT '[' || floor(amount / 5) * 5 || ', ' "
        "|| floor(amount / 5) * 5 + 5 || ')' AS a FROM t",
    ),
    "interval_label, by 2.5": (
        "CREATE OR REPLACE TEMP TABLE o AS SELECT deid.interval_label(amount, 2.5) AS a FROM t",
        "CREATE OR REPLACE TEMP TABLE o AS SELECT '[' || floor(amount / 2.5) * 2.5 || ', ' "
        "|| floor(amount / 2.5) * 2.5 + 2.5 || ')' AS a FROM t",
    ),
    "interval_label, month": (
        "CREATE OR REPLACE TEMP TABLE o AS SELECT deid.interval_label(day, 'month') AS d FROM t",
        "CREATE OR REPLACE TEMP TABLE o AS SELECT strftime(day, '%Y-%m') AS d FROM t",
    ),
    "label_loss": (
        "CREATE OR REPLACE TEMP TABLE o AS SELECT deid.label_loss('AGE', AGE) AS loss FROM r",
        "CREATE OR REPLACE TEMP TABLE o AS SELECT h.loss FROM r JOIN (SELECT DISTINCT label, loss "
        "FROM deid.hierarchies WHERE hierarchy = 'AGE') AS h ON AGE = h.label",
    ),
}


def seconds(con: duckdb.DuckDBPyConnection, query: str) -> tuple[float, float]:
    """The least wall and CPU seconds of five."""
    taken = []
    for _ in range(5):
        start, used = time.perf_counter(), time.process_time()
        con.execute(query).fetchall()
        taken.append((time.perf_counter() - start, time.process_time() - used))
    return min(wall for wall, _ in taken), min(cpu for _, cpu in taken)


def main() -> None:
    file = sys.argv[1] if len(sys.argv) > 1 else DATA / "synth/ihis_like.parquet"
    with duckdb.connect() as con:
        macros.install(con)
        con.execute(
            "CREATE TABLE t AS SELECT *, CAST(hash(i) % 10000 AS INTEGER) AS number, "
            "CAST(hash(i) % 100000 / 100 AS DOUBLE) AS amount, "
            "DATE '1950-01-01' + CAST(hash(i) % 20000 AS INTEGER) AS day "
            f"FROM (SELECT row_number() OVER () AS i, * FROM '{file}')"
        )
        for name in ("AGE", "MARSTAT"):
            hierarchy = DATA / f"hierarchies/ihis_int/ihis_int_hierarchy_{name}.csv"
            con.execute(
                f"INSERT INTO deid.hierarchies FROM deid.read_hierarchy('{hierarchy}', '{name}')"
            )
        con.execute(
            "CREATE TABLE r AS SELECT deid.generalize(AGE, 'AGE', 2) AS AGE, "
            "deid.generalize(MARSTAT, 'MARSTAT', 1) AS MARSTAT, SEX, EDUC, RACEA FROM t"
        )
        ((records, threads),) = con.execute(
            "SELECT count(*), current_setting('threads') FROM t"
        ).fetchall()
        print(f"DuckDB {duckdb.__version__}, {records:,} rows, {len(QIS)} QIs, {threads} threads")
        print(f"{'':24}{'macro':>14}{'by hand':>16}{'ratio':>8}")
        for name, (macro, hand) in PAIRS.items():
            (ours, our_cpu), (theirs, their_cpu) = seconds(con, macro), seconds(con, hand)
            print(
                f"{name:24}{ours:8.3f}{our_cpu:6.2f}{theirs:10.3f}{their_cpu:6.2f}"
                f"{our_cpu / their_cpu:8.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
