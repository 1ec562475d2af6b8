"""The same forty patients wherever a source may be, and the release that is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import dbdeid

COUNT = 40
TABLE = pa.table(
    {
        "id": pa.array(range(910_000, 910_000 + COUNT), pa.int64()),
        "age": pa.array([20 + i % 30 for i in range(COUNT)], pa.int64()),
        "born": pa.array([date(1980, 1, 1) + timedelta(days=40 * i) for i in range(COUNT)]),
        "dose": pa.array([None if i % 9 == 0 else i % 4 + 0.5 for i in range(COUNT)]),
        "town": pa.array(["Łódź", "L'Aquila", 'Bad "X"', None][i % 4] for i in range(COUNT)),
        "diag": pa.array(["flu", "angina", "asthma"][i % 3] for i in range(COUNT)),
    }
)
WHY = {"reason": "known in the hospital only"}
COLUMNS: dict[str, Any] = {
    "id": "identifier",
    "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [10, 20]}},
    "born": {"role": "quasi_identifier", "hierarchy": {"dates": ["year", "decade"]}},
    "town": {"role": "quasi_identifier", "hierarchy": "suppress"},
    "dose": {"role": "sensitive", "accept": "homogeneity", **WHY},
    "diag": {"role": "sensitive", "accept": "homogeneity", **WHY},
}


def spec(source: Any, **keys: Any) -> dict[str, Any]:
    """The specification of the release, of any source."""
    return {
        "release": "patients_public",
        "source": source,
        "columns": COLUMNS,
        "privacy": [{"model": "k_anonymity", "k": 3}],
        "method": {"name": "full_domain", "suppression_limit": 0.5},
        "evaluate": {"metrics": []},
        **keys,
    }


def released(folder: Path, source: Any, connection: Any = None, **keys: Any) -> bytes:
    """The file that a release of a source is exported to."""
    folder.mkdir(exist_ok=True)
    path = folder / "out.parquet"
    output = {"export": [str(path)]}
    dbdeid.run(spec(source, output=output, **keys), connection)
    return path.read_bytes()


def copied(path: Path, rows: str = "patients", options: str = "") -> Path:
    """The patients as a file that DuckDB writes."""
    patients = TABLE  # named in the statement
    with duckdb.connect() as connection:
        connection.register("patients", patients)
        connection.execute(f"COPY (FROM {rows}) TO '{path}' {options}")
    return path


def plain_rows() -> list[tuple[Any, ...]]:
    """The patients as values of Python."""
    return [tuple(row.values()) for row in TABLE.to_pylist()]


def literal(value: Any) -> str:
    """A value as SQL of any database writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, int | float | Decimal):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


def statements(table: str, kinds: Mapping[str, str]) -> str:
    """The statements that make a table of the patients in any database."""
    columns = ", ".join(f'"{name}" {kind}' for name, kind in kinds.items())
    rows = ", ".join(f"({', '.join(map(literal, row))})" for row in plain_rows())
    return f"CREATE TABLE {table} ({columns}); INSERT INTO {table} VALUES {rows};"
