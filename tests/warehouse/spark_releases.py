"""The same specification on the same rows, in DuckDB and in Spark."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import dbdeid
from dbdeid.engine.engines import warehouse_of
from dbdeid.engine.expressions import select
from dbdeid.release.result import RunResult

REASON = "nobody outside has it"


def people(number: int = 3000, seed: int = 1) -> pa.Table:
    """Persons with an age, ZIP code, sex, birthday, illness and dose; some values are missing."""
    rng = random.Random(seed)

    def some(value: Any, share: float = 0.03) -> Any:
        return None if rng.random() < share else value

    rows = [
        {
            "name": f"Ann {i}",
            "age": some(rng.randint(0, 95)),
            "zip": some(f"8{rng.randint(0, 3)}{rng.randint(0, 9)}01"),
            "sex": some(rng.choice(["f", "m"])),
            "born": some(date(1930, 1, 1) + timedelta(rng.randint(0, 30000))),
            "ill": some(rng.choice(["flu", "cold", "gout", "none", "Flu "]), 0.01),
            "dose": some(round(rng.random() * 10, 3)),
        }
        for i in range(number)
    ]
    shape = pa.schema(
        [
            *(("name", pa.string()), ("age", pa.int32()), ("zip", pa.string())),
            *(("sex", pa.string()), ("born", pa.date32()), ("ill", pa.string())),
            ("dose", pa.float64()),
        ]
    )
    return pa.Table.from_pylist(rows, shape)


def spec(**more: Any) -> dict[str, Any]:
    """A specification of these persons."""
    return {
        "release": "visits_public",
        "source": "visits",
        "columns": {
            "name": "identifier",
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [5, 10, 20, 40]}},
            "zip": {"role": "quasi_identifier", "hierarchy": {"prefix": [4, 3, 2, 1]}},
            "sex": {"role": "quasi_identifier", "hierarchy": "suppress"},
            "born": "drop",
            "ill": "sensitive",
            "dose": {"role": "insensitive", "reason": REASON},
        },
        "privacy": [
            {"model": "k_anonymity", "k": 5},
            {"model": "l_diversity", "column": "ill", "l": 2},
        ],
        "method": {"name": "full_domain", "suppression_limit": 0.05},
        "accept": "rows",
        **more,
    }


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


def _nearly(promise: Any) -> dict[str, Any]:
    """A promise whose number may differ in its last digits, as logarithms of two libraries do."""
    found = promise["found"]
    return {
        **promise,
        "found": pytest.approx(found, rel=1e-12) if isinstance(found, float) else found,
    }


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
    assert [*there.promises] == [_nearly(one) for one in here.promises]
    assert there.remains == here.remains
    found = released(spark, release)
    assert found.column_names == own.column_names
    assert counted(found) == counted(own)
    assert counted(released(spark, f"{release}_dictionary")) == counted(listed)
    tables = {t.name for t in spark.catalog.listTables() if not t.isTemporary}
    assert tables == {source, release, f"{release}_dictionary"}
    return Both(here, there)
