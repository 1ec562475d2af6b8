"""Preparing real inputs: codes follow the values, every record is counted, memory stays small."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbdeid.bind.bind import bind
from dbdeid.bind.read import read
from dbdeid.data.classes import CODED, TUPLES
from dbdeid.engine.duckdb.session import Session
from dbdeid.errors import DataError, HierarchyError, SpecError
from dbdeid.methods.registry import ready
from dbdeid.prepare.prepare import prepare, upload_hierarchies

REAL = {
    "credit card": ("arx_creditcard_int.parquet", "creditcard_int", 8),
    "ss13_like": ("synth/ss13_like.parquet", "ss13acs_int", 12),
    "ihis_like": ("synth/ihis_like.parquet", "ihis_int", 9),
}


def spec(source: str, columns: dict[str, Any], **method: Any) -> dict[str, Any]:
    return {
        "release": "r",
        "source": source,
        "columns": columns,
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "method": {"name": "full_domain", **method},
    }


def real(shared: Path, name: str) -> tuple[dict[str, Any], int]:
    """A spec over a reference dataset with ARX's own hierarchies, and its rows."""
    file, family, count = REAL[name]
    path, columns = shared / "data" / file, {}
    with duckdb.connect() as con:
        for column, *_ in con.sql(f"DESCRIBE FROM '{path}'").fetchall():
            stem = f"{family}_hierarchy_{column.replace(' ', '_')}.csv"
            files = (shared / "data" / "hierarchies" / family).iterdir()
            found = [p for p in files if p.name.lower().startswith(stem.lower())]
            taken = sum(c != "drop" for c in columns.values())
            columns[column] = (
                {"role": "quasi_identifier", "hierarchy": str(found[0])}
                if found and taken < count
                else "drop"
            )
        (rows,) = con.sql(f"SELECT count(*) FROM '{path}'").fetchall()[0]
    assert sum(c != "drop" for c in columns.values()) == count
    return spec(str(path), columns), rows


def test_codes_follow_the_values_and_tuples_count_every_record(shared: Path) -> None:
    path = shared / "data" / "adult_uci.parquet"
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE adult AS SELECT * REPLACE (nullif(workclass, '?') AS workclass) "
            f"FROM '{path}'"
        )
        names = [row[0] for row in con.sql("DESCRIBE adult").fetchall()]
        qi = {"role": "quasi_identifier", "hierarchy": "suppress"}
        chosen = ("age", "workclass", "occupation")
        given = spec("adult", {name: qi if name in chosen else "drop" for name in names})
        with Session.over(con, None, read_only=True) as session:
            prepared = prepare(bind(read(given), session), session)
            sizes = [len(q.coding.leaf) for q in prepared.quasi_identifiers]
            counted = session.row(f"SELECT sum(records), count(*) FROM temp.main.{TUPLES.name}")
            used = session.describe(upload_hierarchies(prepared, session).table)
            leaves = [q.coding.hierarchy.leaves for q in prepared.quasi_identifiers]
            with pytest.raises(Exception, match="deid_source"):
                session.rows("FROM temp.main.deid_source")  # originals are dropped at once
            coded = session.rows(f"SELECT DISTINCT age FROM temp.main.{CODED.name} ORDER BY age")
        facts = con.sql(f"SELECT {', '.join(chosen)}, count(*) FROM adult GROUP BY ALL").fetchall()
    assert counted == (32561, len(facts))
    assert sizes == [len({row[i] for row in facts}) for i in range(3)]
    assert leaves[0] == tuple(str(v) for v in sorted({row[0] for row in facts}))
    assert leaves[1] == tuple(sorted({row[1] for row in facts if row[1] is not None}))
    assert "?" in leaves[2]
    assert [row[0] for row in coded] == list(range(sizes[0]))
    assert [c.name for c in used] == [
        *("release", "hierarchy", "level", "value", "label", "loss", "lower", "upper"),
    ]


def test_a_missing_leaf_in_adult_is_counted_not_quoted(shared: Path) -> None:
    path = shared / "data" / "adult_uci.parquet"
    file = shared / "data" / "hierarchies" / "adult" / "adult_hierarchy_workclass.csv"
    with duckdb.connect() as con:
        names = [row[0] for row in con.sql(f"DESCRIBE FROM '{path}'").fetchall()]
    columns: dict[str, Any] = dict.fromkeys(names, "drop")
    columns["workclass"] = {"role": "quasi_identifier", "hierarchy": str(file)}
    with Session.open(None, read_only=True) as session:
        bound = bind(read(spec(str(path), columns)), session)
        with pytest.raises(HierarchyError, match="1 of 9 values have no leaf") as refused:
            prepare(bound, session)
    assert refused.value.examples == ("?",)
    assert "?" not in str(refused.value)


@pytest.mark.full
@pytest.mark.parametrize("name", ["credit card", "ss13_like"])
def test_real_inputs(shared: Path, name: str) -> None:
    given, rows = real(shared, name)
    with Session.open(None, read_only=True) as session:
        prepared = prepare(bind(read(given), session), session)
        assert prepared.rows == rows
        total = session.row(f"SELECT sum(records) FROM temp.main.{TUPLES.name}")
        assert total == (rows,)


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_million_records_in_less_than_a_gigabyte(shared: Path) -> None:
    given, rows = real(shared, "ihis_like")
    program = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from dbdeid.engine.duckdb.session import Session\n"
        "from dbdeid.bind.bind import bind\n"
        "from dbdeid.prepare.prepare import prepare\n"
        "from dbdeid.bind.read import read\n"
        "with Session.open(None, read_only=True) as s:\n"
        "    prepared = prepare(bind(read(sys.argv[1]), s), s)\n"
        # not getrusage: after a fork its peak is that of the parent
        "peak = re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1]\n"
        "print(prepared.rows, peak)"
    )
    text = subprocess.run(
        [sys.executable, "-c", program, read(given).text],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found, kilobytes = map(int, text.split())
    assert found == rows > 1_000_000
    assert kilobytes < 1_000_000


def test_transformations_that_do_not_fit() -> None:
    qi = {"role": "quasi_identifier", "hierarchy": {"intervals": [5]}, "max_level": 1}
    given = spec("t", {"a": qi, "b": qi}, transformation={"A": 2, "zz": 1})
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS a, 2 AS b")
        with Session.over(con, None, read_only=True) as session:
            bound = bind(read(given), session)
            with pytest.raises(SpecError) as refused:
                ready(bound, session)
            con.execute("DELETE FROM t")
            with pytest.raises(DataError, match="no rows"):
                prepare(bound, session)
    assert [m.message for m in refused.value.mistakes] == [
        "level 2 of 'a' is not 0-1",
        "no level for quasi-identifier 'b'",
        "'zz' is not a quasi-identifier",
    ]
