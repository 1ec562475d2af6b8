"""The free bits of a NaN: nobody sees them, and no release has them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from handmade import detail, failed

import dbdeid
from dbdeid.engine.duckdb.session import Session
from dbdeid.verify import Twin, Verification, content, verify_bare
from dbdeid.verify.files.twin import alike

PLAIN, MINUS, TEXT = 0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8006869760000  # "hiv"
SIGNALLING = 0x7FF00000000007A2  # R's NA
SMALL, SMALL_TEXT = 0x7FC00000, 0x7FC06869


def written(path: Path, *bits: int, kind: str = "DOUBLE") -> Path:
    """A file of one such column, with numbers: of NaNs alone the engine would keep one."""
    whole, part = (np.uint64, np.float64) if kind == "DOUBLE" else (np.uint32, np.float32)
    labs = np.concatenate([np.arange(9, dtype=part) / 4, np.array(bits, whole).view(part)])
    with duckdb.connect(str(path)) as con:
        con.register("given", pa.table({"lab": labs, "age": [1] * len(labs)}))
        con.execute(f"CREATE TABLE ward AS SELECT lab::{kind} AS lab, age FROM given")
    return path


def digest(path: Path) -> str:
    with Session.open(path, read_only=True) as session:
        table = session.relation("ward")
        found = content(session, table, table.columns)
    assert found is not None
    return found.digest


@pytest.mark.sampled(3)
@pytest.mark.parametrize("bits", [TEXT, SIGNALLING, TEXT | 1 << 63])
def test_a_nan_with_bits_of_its_own_is_another_value_and_fails(tmp_path: Path, bits: int) -> None:
    clean = written(tmp_path / "clean.duckdb", PLAIN, PLAIN)
    other = written(tmp_path / "other.duckdb", PLAIN, bits)
    assert digest(clean) != digest(other)
    assert failed(verify_bare(clean, ("age",), 2)) == set()
    found = verify_bare(other, ("age",), 2)
    assert failed(found) == {"definition"}
    assert "'lab' has 1 NaN with bits of their own" in detail(found, "definition")
    with Session.open(None, read_only=False) as session:
        session.execute(f"ATTACH '{clean}' AS kept (READ_ONLY)")
        table = session.relation("ward", catalog="kept")
        twin = Twin(other, ("ward",), Verification((), ()))
        assert not alike(session, twin, [table])


def test_the_sign_of_a_nan_says_nothing(tmp_path: Path) -> None:
    clean = written(tmp_path / "clean.duckdb", PLAIN, PLAIN)
    minus = written(tmp_path / "minus.duckdb", PLAIN, MINUS)
    assert digest(clean) == digest(minus)
    assert verify_bare(minus, ("age",), 2).verified


def test_single_precision(tmp_path: Path) -> None:
    clean = written(tmp_path / "clean.duckdb", SMALL, SMALL, kind="FLOAT")
    other = written(tmp_path / "other.duckdb", SMALL, SMALL_TEXT, kind="FLOAT")
    assert digest(clean) != digest(other)
    assert verify_bare(clean, ("age",), 2).verified
    assert failed(verify_bare(other, ("age",), 2)) == {"definition"}


def test_a_release_has_none_of_the_bits_of_its_source(tmp_path: Path) -> None:
    path = written(tmp_path / "owner.duckdb", TEXT, *[PLAIN] * 5)
    asked = {
        "release": "public",
        "source": "ward",
        "database": str(path),
        "target": str(tmp_path / "public.duckdb"),
        "columns": {
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [2]}},
            "lab": {"role": "insensitive", "reason": "a test"},
        },
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "evaluate": {"metrics": []},
        "method": {"name": "full_domain"},
    }
    assert dbdeid.run(asked).verified
    with duckdb.connect(str(tmp_path / "public.duckdb"), read_only=True) as con:
        bits = con.execute("SELECT DISTINCT lab::BIT::VARCHAR FROM public WHERE isnan(lab)")
        assert bits.fetchall() == [(f"{PLAIN:064b}",)]
