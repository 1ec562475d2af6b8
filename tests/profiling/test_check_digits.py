"""Numbers are known by their check digits where the libraries are there, and not otherwise."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from stdnum.nl import bsn
from stdnum.pt import nif

from dbdeid.bind.any_table import opened
from dbdeid.engine.session import Step
from dbdeid.profiling import check_digits
from dbdeid.profiling.detect import DetectedColumn, detect

BSN = [str(n) for n in range(100_000_000, 100_009_000) if bsn.is_valid(str(n))]
NIF = [str(n) for n in range(210_000_000, 210_009_000) if nif.is_valid(str(n))]
PHONES = [f"0151{n:08d}" for n in range(21_000_000, 21_000_400)]


def found(folder: Path, values: list[str], kind: str) -> DetectedColumn:
    source = folder / "c.parquet"
    with duckdb.connect() as con:
        con.execute("CREATE TABLE given AS SELECT unnest(?) AS value", [values])
        many = f"SELECT value::{kind} AS c01 FROM given, range(3)"
        con.execute(f"COPY ({many}) TO '{source}'")
    with opened(source, None) as found_table:
        session, query = found_table.session, found_table.opened.query
        return detect(session, session.run(Step("deid_draft", query)))[0]


@pytest.fixture
def without() -> Iterator[None]:
    """The libraries cannot be imported."""
    hidden = {n: m for n, m in sys.modules.items() if n.split(".")[0] in ("stdnum", "phonenumbers")}
    check_digits._scheme.cache_clear()
    for name in (*hidden, "stdnum", "phonenumbers"):
        sys.modules[name] = None  # type: ignore[assignment]
    yield
    for name in ("stdnum", "phonenumbers"):
        del sys.modules[name]
    sys.modules.update(hidden)
    check_digits._scheme.cache_clear()


@pytest.mark.parametrize("kind", ["VARCHAR", "INTEGER"])
def test_national_numbers(tmp_path: Path, kind: str) -> None:
    one = found(tmp_path, BSN, kind)
    assert (one.kind, one.reason) == (
        "ssn",
        "its values keep the check digits of Dutch citizen service numbers",
    )
    assert "Portuguese" in found(tmp_path, NIF, kind).reason


@pytest.mark.full
def test_amounts_keep_no_check_digits(tmp_path: Path) -> None:
    assert found(tmp_path, [str(n) for n in range(100_000_000, 100_000_900)], "INTEGER").kind == (
        "number"
    )


def test_telephones_without_blanks(tmp_path: Path) -> None:
    one = found(tmp_path, PHONES, "VARCHAR")
    assert (one.kind, one.reason) == ("phone", "its values are valid telephone numbers")


@pytest.mark.usefixtures("without")
def test_all_works_without_the_libraries(tmp_path: Path) -> None:
    assert found(tmp_path, BSN, "INTEGER").kind == "number"
    assert found(tmp_path, PHONES, "VARCHAR").kind == "record_number"
