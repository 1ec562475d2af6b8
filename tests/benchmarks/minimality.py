"""What the minimality attack reads after `dealing`, and what blocks cost that tell nothing.

Usage: python tests/benchmarks/minimality.py SHARED [TABLE …]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import duckdb

import dbdeid
from dbdeid.errors import Unsatisfiable

SUPPRESS = {"role": "quasi_identifier", "hierarchy": "suppress"}
YEARS = {"role": "quasi_identifier", "hierarchy": {"intervals": [5, 10, 20]}}
SEVEN = [
    "sex",
    "race",
    "marital_status",
    "education",
    "native_country",
    "workclass",
    "salary_class",
]
# Of each table its file, the rows, its quasi-identifiers and what is sensitive.
TABLES: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "adult": ("adult_arx.parquet", "", {}, "occupation"),
    "support2": (
        "survival/support2.parquet",
        "CAST(floor(age) AS INT) AS age, sex, race, income, num_co, dzgroup",
        {"age": YEARS, **dict.fromkeys(("sex", "race", "income", "num_co"), SUPPRESS)},
        "dzgroup",
    ),
    "deaths": (
        "survival/support2.parquet",
        "CAST(floor(age) AS INT) AS age, sex, race, income, hospdead",
        {"age": YEARS, **dict.fromkeys(("sex", "race", "income"), SUPPRESS)},
        "hospdead",
    ),
    "rotterdam": (
        "survival/r_survival_rotterdam.parquet",
        "age, meno, size, grade, hormon, chemo, recur",
        {"age": YEARS, **dict.fromkeys(("meno", "size", "grade", "hormon", "chemo"), SUPPRESS)},
        "recur",
    ),
    "diabetes130": (
        "ehr/diabetes130.parquet",
        "race, gender, age, admission_type_id, time_in_hospital, readmitted",
        {
            "time_in_hospital": {"role": "quasi_identifier", "hierarchy": {"intervals": [2, 4, 8]}},
            **dict.fromkeys(("race", "gender", "age", "admission_type_id"), SUPPRESS),
        },
        "readmitted",
    ),
}


def main(shared: Path, names: list[str]) -> None:
    """Print a row of each table, k and l, and way to make blocks."""
    print("table  k  l  blocks  loss  claimed  right  seconds")
    for name in names or TABLES:
        for k, least in ((3, 2), (5, 2), (3, 3), (5, 3)):
            for safe in ("measured", "safe"):
                print(name, k, least, safe, *measured(shared, name, k, least, safe), flush=True)


def measured(shared: Path, name: str, k: int, least: int, safe: str) -> tuple[Any, ...]:
    """Loss, people of whom a value is claimed, and of whom rightly."""
    file, rows, columns, sensitive = TABLES[name]
    if name == "adult":
        folder = shared / "data" / "hierarchies" / "adult"
        columns = {
            n: {
                "role": "quasi_identifier",
                "hierarchy": str(folder / f"adult_hierarchy_{n.replace('_', '-')}.csv"),
            }
            for n in SEVEN
        } | {"age": "drop"}
    spec = {
        "release": "out",
        "source": "people",
        "accept": "rows",
        "seed": 1,
        "columns": {**columns, sensitive: "sensitive"},
        "privacy": [
            {"model": "k_anonymity", "k": k},
            {"model": "l_diversity", "column": sensitive, "l": least},
        ],
        "method": {"name": "local_recoding", "minimality": safe},
        "evaluate": {"metrics": ["loss", "minimality"]},
    }
    with duckdb.connect() as con:
        source = f"SELECT {rows or '*'} FROM '{shared / 'data' / file}'"
        con.execute(f"CREATE TABLE people AS {source}")
        start = time.perf_counter()
        try:
            found = dbdeid.run(spec, con).metrics
        except Unsatisfiable as error:
            return (str(error).splitlines()[0][:60],)
    read = [int(found[f"minimality.{sensitive}{part}"]) for part in (".claimed", "")]
    return (round(found["loss"], 4), *read, round(time.perf_counter() - start, 1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
