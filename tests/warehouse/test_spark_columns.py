"""Columns of every type and name, and real tables: the same in Spark as in DuckDB."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_releases import REASON, both, counted, released

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

QI = "quasi_identifier"


def _table(columns: dict[str, tuple[pa.DataType, list[Any]]], number: int, seed: int) -> pa.Table:
    rng = random.Random(seed)
    cells = {
        name: pa.array([rng.choice([*values, values[0]]) for _ in range(number)], kind)
        for name, (kind, values) in columns.items()
    }
    return pa.table(cells)


START = datetime(2020, 3, 8, 2, 30)
TYPED: dict[str, tuple[pa.DataType, list[Any], Any]] = {
    "decimal": (
        pa.decimal128(9, 3),
        [None, *(Decimal(n) / 8 for n in range(-40, 40))],
        {"intervals": [1, 5]},
    ),
    "small decimal": (
        pa.decimal128(12, 9),
        [None, *(Decimal(n).scaleb(-8) for n in range(-40, 40))],
        "suppress",
    ),
    "double": (
        pa.float64(),
        [None, 0.0, -0.0, 0.1, 1e-7, 123456789.125, 1e16, -2.5, float("inf"), float("nan")],
        "suppress",
    ),
    "double in intervals": (
        pa.float64(),
        [None, -0.0, 0.0, *(n / 7 for n in range(60))],
        {"intervals": [1, 4]},
    ),
    "float": (pa.float32(), [None, 0.1, -0.0, 3.3, 1e10], "suppress"),
    "date": (
        pa.date32(),
        [None, *(date(1999, 1, 1) + timedelta(31 * n) for n in range(50))],
        {"dates": ["month", "year"]},
    ),
    "timestamp": (
        pa.timestamp("us"),
        [None, *(START + timedelta(days=9 * n, microseconds=n) for n in range(60))],
        {"dates": ["month", "quarter", "year"]},
    ),
    "timestamp without levels": (
        pa.timestamp("us"),
        [None, *(START + timedelta(days=400 * n) for n in range(4))],
        "suppress",
    ),
    "boolean": (pa.bool_(), [None, True, False], "suppress"),
    "tiny": (pa.int8(), [None, *range(-128, 128, 8)], {"intervals": [10, 50]}),
    "big": (pa.int64(), [None, 2**62, -(2**62), 5], "suppress"),
    "text": (
        pa.string(),
        [None, "", " ", "a'b", 'a"b', "a`b", "a\\b", "Ünï", "a\tb", "ABC", "abc", "ａ", "a "],
        {"prefix": [1]},
    ),
    "grouped": (
        pa.string(),
        [None, "a'1", "b\\2", "c%3"],
        {"groups": [{"it's": ["a'1", "b\\2"], "other": ["c%3"]}]},
    ),
}
ODD = "c`o.l, \"u\" 'm' n"
SHOWN: dict[str, dict[str, Any]] = {
    "dropped": {},
    "kept": {"suppressed": "keep"},
    "raw": {"transformation": {ODD: 0, "b": 1}, "suppression_limit": 1},
}


@pytest.mark.parametrize("method", SHOWN.values(), ids=SHOWN)
@pytest.mark.parametrize("name", TYPED)
def test_a_quasi_identifier_of_each_type(here: Any, name: str, method: dict[str, Any]) -> None:
    kind, values, hierarchy = TYPED[name]
    rows = _table(
        {
            ODD: (kind, values),
            "b": (pa.string(), ["x", "y"]),
            "deid_coded": (kind, values),
            "s": (pa.string(), ["p", "q", "r", None]),
        },
        600,
        seed=3,
    )
    given = {
        "release": "shown",
        "source": "given_rows",
        "columns": {
            ODD: {"role": QI, "hierarchy": hierarchy},
            "b": {"role": QI, "hierarchy": "suppress"},
            "deid_coded": {"role": "insensitive", "reason": REASON},
            "s": "sensitive",
        },
        "privacy": [
            {"model": "k_anonymity", "k": 6},
            {"model": "l_diversity", "column": "s", "l": 2},
        ],
        "method": {"name": "full_domain", "suppression_limit": 0.2, **method},
        "accept": "rows",
    }
    both(here, given, rows)


def test_adult_is_the_same_in_both(here: Any, shared: Path) -> None:
    rows = pq.read_table(shared / "data" / "adult_arx.parquet")
    folder = shared / "data" / "hierarchies" / "adult"
    names = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
    columns = {}
    for name in rows.column_names:
        path = folder / f"adult_hierarchy_{name.replace('_', '-')}.csv"
        chosen = name.replace("_", "-") in names and path.exists()
        columns[name] = {"role": QI, "hierarchy": str(path)} if chosen else "drop"
    columns["occupation"] = "sensitive"
    given = {
        "release": "adult_public",
        "source": "adult",
        "columns": columns,
        "privacy": [
            {"model": "k_anonymity", "k": 10},
            {"model": "l_diversity", "column": "occupation", "l": 3},
        ],
        "method": {"name": "full_domain", "suppression_limit": 0.04},
        "accept": "rows",
    }
    found = both(here, given, rows)
    assert found.there.search["proven_optimal"]
    assert sum(counted(released(here, "adult_public")).values()) == found.here.released_rows
