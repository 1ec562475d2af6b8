"""The same specification on the same rows, in DuckDB and in Spark."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

import dbdeid
from dbdeid.engine.engines import warehouse_of
from dbdeid.engine.expressions import select
from dbdeid.release.result import RunResult

REASON = "nobody outside has it"


def lent(spark: Any, name: str, rows: pa.Table) -> None:
    """Rows as a table of the current schema, of several files."""
    warehouse = warehouse_of(spark)
    assert warehouse is not None
    given = warehouse.lend("given", rows)
    warehouse.write(
        warehouse.place(name), select("*").from_(given.table), rows.column_names[:1], {}
    )
    warehouse.close()


def released(spark: Any, name: str) -> pa.Table:
    """A table of the current schema."""
    return spark.table(f"`{name}`").toArrow()


def counted(rows: pa.Table) -> Counter[str]:
    """Its rows in no order."""
    return Counter(map(repr, rows.to_pylist()))


@dataclass(frozen=True)
class Both:
    """What both engines made.

    Attributes:
        here: in DuckDB.
        there: in Spark.
    """

    here: RunResult
    there: RunResult


def both(spark: Any, spec: dict[str, Any], rows: pa.Table) -> Both:
    """Run a spec in both engines, and assert that they make the same of it."""
    source, release = spec["source"], spec["release"]
    lent(spark, source, rows)
    there = dbdeid.run(spec, connection=spark)
    with duckdb.connect() as connection:
        connection.register("given", rows)
        connection.execute(f'CREATE TABLE "{source}" AS FROM given')
        here = dbdeid.run(spec, connection=connection)
        own = connection.execute(f'FROM "{release}"').to_arrow_table()
        listed = connection.execute(f'FROM "{release}_dictionary"').to_arrow_table()
    assert there.verified
    assert here.verified
    assert there.transformation == here.transformation
    assert there.loss == here.loss
    assert there.suppressed_rows == here.suppressed_rows
    assert there.classes == here.classes
    assert there.promises == here.promises
    found = released(spark, release)
    assert found.column_names == own.column_names
    assert counted(found) == counted(own)
    assert counted(released(spark, f"{release}_dictionary")) == counted(listed)
    tables = {t.name for t in spark.catalog.listTables() if not t.isTemporary}
    assert tables == {source, release, f"{release}_dictionary"}
    return Both(here, there)
