"""A session of Spark as a warehouse: rows there and back, tables made, renamed and looked at."""

from __future__ import annotations

import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbdeid.engine.engines import warehouse_of
from dbdeid.engine.expressions import (
    aliased,
    cast,
    column,
    count_rows,
    literal,
    same_value,
    select,
    try_cast,
)
from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Column
from dbdeid.engine.session import Step
from dbdeid.engine.warehouse import Warehouse
from dbdeid.errors import DataError

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

ROWS = pa.table(
    {
        "odd `name`. \"x\"": pa.array(["a\\'b`", None, "Ünïcode", "*"], pa.large_string()),
        "n": pa.array([1, None, -(2**63), 2**63 - 1], pa.int64()),
        "m": pa.array([1, 2, 3, None], pa.int16()),
        "d": pa.array([Decimal("1.5"), None, Decimal("-9999.99"), Decimal(0)], pa.decimal128(7, 2)),
        "day": pa.array([date(1582, 10, 4), None, date(2020, 2, 29), date(9999, 12, 31)]),
        "at": pa.array([datetime(2020, 3, 8, 2, 30, 0, 1), None, datetime(1900, 1, 1), None]),
        "x": pa.array([0.1, None, float("inf"), -0.0]),
        "y": pa.array([True, None, False, True]),
        "l": pa.array([["b", None], None, [], ["a"]], pa.list_(pa.string())),
    }
)  # fmt: skip
TYPES = (
    *("VARCHAR", "BIGINT", "SMALLINT", "DECIMAL(7,2)", "DATE", "TIMESTAMP"),
    *("DOUBLE", "BOOLEAN", "VARCHAR[]"),
)


@pytest.fixture
def there(here: Any) -> Any:
    found = warehouse_of(here)
    assert found is not None
    yield found
    found.close()
    views = [t.name for t in here.catalog.listTables() if t.isTemporary]
    assert not [name for name in views if name.startswith("deid_")]


def test_rows_go_there_and_back(there: Warehouse) -> None:
    lent = there.lend("rows", ROWS)
    assert lent.columns == tuple(map(Column, ROWS.column_names, TYPES))
    assert there.arrow(select("*").from_(lent.table)).to_pylist() == ROWS.to_pylist()
    place = there.place("kept_t")
    assert there.found(place) is None
    there.write(place, select("*").from_(lent.table), ["n"], {"dbdeid.run": "one"})
    assert there.found(place) == "table"
    assert there.marks(place)["dbdeid.run"] == "one"
    assert there.described(place).columns == lent.columns
    back = there.arrow(select("*").from_(place.table)).to_pylist()
    assert sorted(map(repr, back)) == sorted(map(repr, ROWS.to_pylist()))
    with pytest.raises(DataError, match="something is where a table is to be written"):
        there.write(place, select("*").from_(lent.table), [], {})
    there.rename(place, "other")
    assert there.found(place) is None
    assert there.found(there.place("other")) == "table"
    there.drop(there.place("other"))
    assert there.found(there.place("other")) is None


def test_steps_mean_what_they_mean_here(there: Warehouse) -> None:
    lent = there.lend("rows", ROWS)
    kept = there.run(Step("some", select("n", "m").from_(lent.table).where(column("n") > 0)))
    assert there.row(select(count_rows()).from_(kept.table)) == (2,)
    there.drop_temp("some")
    with pytest.raises(EngineError, match="TABLE_OR_VIEW_NOT_FOUND"):
        there.row(select(count_rows()).from_(kept.table))
    joined = select(count_rows()).from_(lent.aliased("a"))
    same = same_value(column("n", "a"), column("n", "b"))
    assert there.row(joined.join(lent.aliased("b"), on=same)) == (4,)  # NULL is like NULL
    odd = 'it\'s \\n `*` "q"'
    assert there.row(select(aliased(literal(odd), "a"))) == (odd,)
    assert there.row(select(try_cast(literal("x"), "INTEGER"))) == (None,)
    with pytest.raises(EngineError) as error:
        there.row(select(cast(literal("Ann"), "INTEGER")))
    assert "Ann" not in str(error.value)
    assert "CAST_INVALID_INPUT" in str(error.value)


def test_what_is_lent_is_sent_to_all_and_no_table_is_dealt_for_it(
    there: Warehouse, here: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    here.range(1000).write.format("parquet").saveAsTable("many")
    lent = there.lend("rows", pa.table({"id": [1, 2, None], "label": ["a", "b", None]}))
    same = same_value(column("id", "s"), column("id", "m"))
    joined = select(column("label", "m")).from_(there.source("many").aliased("s"))
    found = there.run(Step("joined", joined.join(lent.aliased("m"), on=same)))
    here.table(f"`{found.name}`").explain()
    told = capsys.readouterr().out
    assert "BroadcastHashJoin" in told
    assert "SortMergeJoin" not in told


def test_sources_are_tables_and_views_of_any_name(there: Warehouse, here: Any) -> None:
    frame = here.createDataFrame([(1, "a")], "a int, b string")
    frame.createOrReplaceTempView("seen")
    frame.createOrReplaceTempView("`odd one`")
    frame.write.saveAsTable("kept")
    schema = here.catalog.currentDatabase()
    wanted = (Column("a", "INTEGER"), Column("b", "VARCHAR"))
    for name in (
        "seen",
        "odd one",
        '"odd one"',
        f"{schema}.kept",
        f'spark_catalog."{schema}".kept',
    ):
        assert there.source(name).columns == wanted, name
    with pytest.raises(DataError, match="Spark has no table or view 'nowhere'"):
        there.source("nowhere")
    here.catalog.dropTempView("seen")
    here.catalog.dropTempView("odd one")


def test_collated_texts_are_no_texts(there: Warehouse, here: Any) -> None:
    here.sql("CREATE TABLE c (a STRING COLLATE UTF8_LCASE, b CHAR(3), c TIMESTAMP) USING parquet")
    kinds = [c.family for c in there.source("c").columns]
    assert kinds == ["other", "text", "timestamp"]


def test_no_comment_of_the_source_is_written(there: Warehouse, here: Any) -> None:
    here.sql("CREATE TABLE told (a INT COMMENT 'from /home/ann', b CHAR(3)) USING parquet")
    here.sql("INSERT INTO told VALUES (1, 'x')")
    assert there.notes(there.place("told"))
    rows = select("*").from_(there.source("told").table)
    there.write(there.place("plain"), rows, ["a"], {})
    assert there.notes(there.place("plain")) == ()
    here.sql("COMMENT ON TABLE plain IS 'of ann'")
    assert there.notes(there.place("plain")) == ("the table has a comment",)
    here.sql("COMMENT ON TABLE plain IS NULL")
    # one that only the files have
    (name,) = here.table("plain").inputFiles()
    path = Path(urlsplit(name).path)
    rows = pq.read_table(path)
    note = {b"comment": b"of ann"}
    pq.write_table(rows.replace_schema_metadata(note), path)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    told = "a file has notes in its footer that are not its shape"
    assert told in there.notes(there.place("plain"))


def test_files_are_sorted(there: Warehouse, here: Any) -> None:
    frame = here.range(1000).selectExpr("id % 7 AS a", "(id * 31) % 100 AS b", "NULL AS c")
    frame.selectExpr("a", "b", "CAST(c AS STRING) AS c").createOrReplaceTempView("many")
    there.write(there.place("kept"), select("*").from_(there.source("many").table), ["a"], {})
    assert there.unsorted(there.place("kept")) == 0
    here.table("many").coalesce(1).write.format("parquet").saveAsTable("asis")
    assert there.unsorted(there.place("asis")) > 100
    here.catalog.dropTempView("many")


LATER = """
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from dbdeid.engine.engines import warehouse_of

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
rows = spark.range(3)
there = warehouse_of(spark)
there.found(there.place("none"))
try:
    rows.select(rows["id"] + rows["id"].cast("date")).collect()
except AnalysisException as error:
    print(error.getCondition())
"""


def test_later_errors_of_the_caller_are_their_own() -> None:
    words = [sys.executable, "-c", LATER]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("DATATYPE_MISMATCH")


def test_what_is_no_warehouse() -> None:
    assert warehouse_of(None) is None
    assert warehouse_of(object()) is None


def test_a_session_that_makes_null_of_errors_is_refused(here: Any) -> None:
    here.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with pytest.raises(DataError, match="no ANSI mode"):
            warehouse_of(here)
    finally:
        here.conf.set("spark.sql.ansi.enabled", "true")
