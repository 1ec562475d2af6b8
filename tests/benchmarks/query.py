"""What a query costs on a release against the same query on its source.

    python tests/benchmarks/query.py [ROWS] [REPEATS]

Prints wall and CPU seconds (best of the repeats, 2 threads) and their ratio, release to source.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import duckdb

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.sqltext import sql
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.reading import parse
from dbdeid.query.rewrite.rewrite import estimate

QUERIES = {
    "all": "SELECT COUNT(*) FROM people",
    "range": "SELECT COUNT(*) FROM people WHERE age BETWEEN 23 AND 41",
    "generalized key": "SELECT age, COUNT(*) FROM people GROUP BY age",
    "key and range": "SELECT age, COUNT(*) FROM people WHERE income < 33333 GROUP BY age",
    "key, same range": "SELECT age, COUNT(*) FROM people WHERE age BETWEEN 23 AND 41 GROUP BY age",
    "text key": "SELECT zip, COUNT(*) FROM people WHERE age < 42 GROUP BY zip",
    "single days": "SELECT born, COUNT(*) FROM people WHERE sex = 'F' GROUP BY born",
    "four conditions": "SELECT sex, COUNT(*) FROM people WHERE age < 42 AND income >= 20000 "
    "AND born < DATE '1980-06-15' AND zip LIKE '12%' GROUP BY sex",
    "or of columns": "SELECT sex, COUNT(*) FROM people WHERE age < 42 OR income >= 20000 "
    "OR zip LIKE '12%' GROUP BY sex",
    "two keys": "SELECT age, zip, COUNT(*) FROM people WHERE income < 33333 GROUP BY age, zip",
    "mean of key": "SELECT zip, AVG(age) FROM people WHERE income < 33333 GROUP BY zip",
    "sum of exact": "SELECT age, SUM(length(job)) FROM people WHERE income < 33333 GROUP BY age",
    "least and most": "SELECT sex, MIN(age), MAX(income) FROM people WHERE age < 42 GROUP BY sex",
    "distinct": "SELECT sex, COUNT(DISTINCT zip) FROM people WHERE age < 42 GROUP BY sex",
    "exact": "SELECT job, COUNT(*) FROM people WHERE job < 'job 5' GROUP BY job",
}


def write(session: Session, rows: int) -> Answerable:
    """A source and its release: age by 10, income by 25,000, birth by year, zip to 3 digits."""
    session.execute(
        f"""CREATE TABLE people AS SELECT
          CAST(hash(i) % 90 AS INTEGER) AS age,
          CAST(hash(i + 1e9) % 200000 AS INTEGER) AS income,
          DATE '1930-01-01' + CAST(hash(i + 2e9) % 29219 AS INTEGER) AS born,
          CAST(10000 + hash(i + 3e9) % 5000 AS VARCHAR) AS zip,
          CASE WHEN hash(i + 4e9) % 2 = 0 THEN 'F' ELSE 'M' END AS sex,
          'job ' || hash(i + 5e9) % 14 AS job
        FROM range({rows}) AS t(i)"""
    )
    session.execute(
        """CREATE TABLE release AS SELECT
          CAST(age // 10 * 10 AS VARCHAR) AS age,
          CAST(income // 25000 * 25000 AS VARCHAR) AS income,
          CAST(year(born) AS VARCHAR) AS born,
          left(zip, 3) AS zip,
          sex,
          job
        FROM people ORDER BY ALL"""
    )
    session.execute(
        """CREATE TABLE words AS
        SELECT DISTINCT 'age' AS "column", age AS released_value, 1 AS level, age AS lower,
          CAST(CAST(age AS INTEGER) + 9 AS VARCHAR) AS upper, CAST(NULL AS VARCHAR[]) AS leaves
        FROM release
        UNION ALL SELECT DISTINCT 'income', income, 1, income,
          CAST(CAST(income AS INTEGER) + 24999 AS VARCHAR), NULL FROM release
        UNION ALL SELECT DISTINCT 'born', born, 1, born || '-01-01', born || '-12-31', NULL
        FROM release
        UNION ALL SELECT 'zip', left(zip, 3), 1, NULL, NULL, list(DISTINCT zip)
        FROM people GROUP BY left(zip, 3)
        UNION ALL SELECT DISTINCT 'sex', sex, 0, NULL, NULL, NULL FROM release"""
    )
    source = session.relation("people")
    columns = tuple(Column(c.name, c.type) for c in source.columns)
    quasi_identifiers = ("age", "income", "born", "zip", "sex")
    release, words = session.relation("release"), Relation("words")
    return Answerable(("people",), columns, quasi_identifiers, release, words)


def best(session: Session, text: str, repeats: int) -> tuple[float, float]:
    """Least wall and CPU seconds of a query."""
    walls, cpus = [], []
    for _ in range(repeats):
        wall, cpu = perf_counter(), process_time()
        session.rows(text)
        walls.append(perf_counter() - wall)
        cpus.append(process_time() - cpu)
    return min(walls), min(cpus)


def main(rows: int = 1_200_000, repeats: int = 5) -> None:
    """Print one line a query."""
    for place in ("file", "memory"):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "people.duckdb" if place == "file" else ":memory:"
            with duckdb.connect(path, config={"threads": 2}) as connection:
                measure(connection, place, rows, repeats)


def measure(connection: duckdb.DuckDBPyConnection, place: str, rows: int, repeats: int) -> None:
    """Print the figures of one database."""
    with Session.over(connection, None, read_only=False) as session:
        target = write(session, rows)
        session.execute("CHECKPOINT")
        print(f"{place}: {rows} rows, DuckDB {duckdb.__version__}, 2 threads, best of {repeats}")
        print(f"{'query':18}{'source':>9}{'release':>9}{'wall':>7}{'CPU':>7}   seconds and ratios")
        for name, text in QUERIES.items():
            source = best(session, text, repeats)
            release = best(session, sql(estimate(parse(text, target), target)), repeats)
            ratios = [mine / theirs for mine, theirs in zip(release, source, strict=True)]
            print(f"{name:18}{source[0]:9.4f}{release[0]:9.4f}{ratios[0]:7.1f}{ratios[1]:7.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
