"""Random specifications of `release/fuzzed.py`: Spark makes what DuckDB makes, or neither does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from spark_releases import REASON, both

import dbdeid
from dbdeid.errors import DbdeidError

sys.path.insert(0, str(Path(__file__).parents[1] / "release"))
import fuzzed

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

FIRST, CASES, OF_PEOPLE = 5000, 14, 6

# Types that Spark lacks, as the nearest that it has.
_TYPES = {
    **{"UTINYINT": "SMALLINT", "USMALLINT": "INTEGER", "UINTEGER": "BIGINT"},
    **dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "TIMESTAMP"),
    **{name: name for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE")},
    **{name: name for name in ("DATE", "TIMESTAMP", "BOOLEAN", "VARCHAR")},
}


def numbers() -> list[int]:
    """Cases of method full_domain that count records, and some that count people."""
    some = [n for n in range(FIRST, FIRST + 400) if fuzzed.case(n).method == "full_domain"]
    specs = {n: fuzzed.case(n).spec for n in some}
    linked = [n for n in some if "pseudonym" in str(specs[n]["columns"])]
    people = [n for n in some if "subject" in specs[n] and n not in linked]
    return [*[n for n in some if "subject" not in specs[n]][:CASES], *people[:OF_PEOPLE]]


def rows_of(case: fuzzed.Case) -> pa.Table:
    """The table of a case, in types that Spark has."""
    with duckdb.connect() as connection:
        for statement in case.sql:
            connection.execute(statement)
        cells = []
        for name, kind, *_ in connection.execute("DESCRIBE visits").fetchall():
            shown = kind if kind.startswith("DECIMAL") else _TYPES.get(kind, "VARCHAR")
            quoted = '"' + name.replace('"', '""') + '"'
            cells.append(f"{quoted}::{shown} AS {quoted}")
        query = f"SELECT {', '.join(cells)} FROM visits"
        return connection.sql(query).to_arrow_table()


def spec_of(case: fuzzed.Case) -> dict[str, Any]:
    """Its specification, of a table of a warehouse."""
    given = {k: v for k, v in case.spec.items() if k not in ("database", "target", "evaluate")}
    given["source"] = "visits"
    output = {k: v for k, v in given.pop("output", {}).items() if k == "bounds"}
    columns = {}
    for name, column in given["columns"].items():
        plain = {"role": column} if isinstance(column, str) else dict(column)
        if plain.get("role") == "insensitive":
            plain |= {"reason": REASON}
        columns[name] = plain
    return {**given, "columns": columns, **({"output": output} if output else {})}


@pytest.mark.parametrize("number", numbers())
def test_both_make_the_same_or_neither(
    here: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    case = fuzzed.case(number)
    monkeypatch.chdir(tmp_path)
    for name, text in case.files.items():
        Path(name).write_text(text, newline="")
    given, rows = spec_of(case), rows_of(case)
    refused = None
    try:
        both(here, given, rows)
    except DbdeidError as error:
        refused = error
    if refused is None:
        return
    with duckdb.connect() as connection:
        connection.register("given", rows)
        connection.execute("CREATE TABLE visits AS FROM given")
        with pytest.raises(type(refused)) as found:
            dbdeid.run(given, connection)
    assert str(found.value).splitlines()[:2] == str(refused).splitlines()[:2]
