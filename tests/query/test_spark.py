"""Rewritten queries in Spark: the same answers as in DuckDB."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from typing import Any

import duckdb
import pytest
from engine_cases import Rows, Table, check, function_case, random_cases
from spark_here import NO_SPARK, has_spark

from dbdeid.engine.duckdb.session import Session
from dbdeid.query.dialects.histogram import Begun, Counted, Floored, histogram

if not has_spark():
    pytest.skip(NO_SPARK, allow_module_level=True)
sql = pytest.importorskip("pyspark.sql")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    settings = {
        **{"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"},
        **{"spark.driver.host": "127.0.0.1", "spark.sql.ansi.enabled": "true"},
        "spark.driver.memory": "3g",  # plans of long queries
        "spark.sql.session.timeZone": "America/New_York",
    }
    started = sql.SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    started.sparkContext.setLogLevel("OFF")
    yield started
    started.stop()


_TYPES = {"VARCHAR[]": "array<string>", "VARCHAR": "string", "TIMESTAMP": "timestamp_ntz"}


def _type(kind: str) -> str:
    if kind.startswith("ENUM"):
        return "string"
    return _TYPES.get(kind, kind).lower().replace("integer", "int")


def write(spark: Any, tables: Iterable[Table]) -> None:
    for table in tables:
        shape = ", ".join(f"`{name}` {_type(kind)}" for name, kind in table.columns.items())
        rows = [tuple(list(v) if isinstance(v, tuple) else v for v in row) for row in table.rows]
        spark.createDataFrame(rows, shape).createOrReplaceTempView(table.name)


def ask(spark: Any, query: str) -> Rows:
    return [tuple(row) for row in spark.sql(query).collect()]


def test_functions_give_the_same_values(session: Session, spark: Any) -> None:
    case = function_case(session, "spark")
    write(spark, case.tables)
    for one in case.asked:
        theirs = ask(spark, one.written)
        assert len(theirs) == 8
        check(session, one, theirs)


def test_random_releases_answer_alike(session: Session, spark: Any) -> None:
    for case in random_cases(session, "spark", range(300, 306), each=2):
        write(spark, case.tables)
        for one in case.asked:
            check(session, one, ask(spark, one.written))


def test_a_histogram_counts_the_same(spark: Any) -> None:
    values = [(n * 7 % 130 - 20, date(2018, 11, 1) + timedelta(n * 13 % 1500)) for n in range(500)]
    by = (
        Counted("age", Floored(20, 3, 0, 90)),
        Counted("admitted", Begun("quarter", date(2019, 2, 15), date(2022, 1, 1))),
    )
    spark.createDataFrame(values, "age int, admitted date").createOrReplaceTempView("visits")
    found = [tuple(row) for row in spark.sql(histogram("visits", by, "spark")).collect()]
    with duckdb.connect() as con:
        con.execute("CREATE TABLE visits (age INTEGER, admitted DATE)")
        con.executemany("INSERT INTO visits VALUES (?, ?)", values)
        assert sorted(found) == sorted(con.execute(histogram("visits", by, "duckdb")).fetchall())
