"""The attacks of anonymeter (Giomi et al. 2023) on synthetic records, against a hold-out.

anonymeter wants another numpy than dbdeid, so that it gets an environment of its own. Its attacks
draw without a seed: intervals are wide, so that they fail once in thousands of runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import duckdb
import pytest

import dbdeid

pytestmark = pytest.mark.full  # makes an environment, and attacks for most of a minute

SCRIPT = Path(__file__).with_name("anonymeter_script.py")
ATTACKS = ("singling_out", "linkability", "inference of DzClass", "inference of Income")
Rates = dict[str, dict[str, list[float]]]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with anonymeter."""
    folder = tmp_path_factory.mktemp("anonymeter")
    venv.create(folder, with_pip=True)
    found = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    install = [str(found), "-m", "pip", "install", "--quiet", "--no-compile", "anonymeter>=1.0"]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return found


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> dict[str, Path]:
    """Two random halves of SUPPORT2, and synthetic records of the first."""
    folder = tmp_path_factory.mktemp("halves")
    source = shared / "data/survival/recipient_support2.parquet"
    with duckdb.connect() as con:
        con.execute(
            f"CREATE TABLE numbered AS SELECT *, hash(row_number() OVER () + 11) % 2 AS half "
            f"FROM '{source}'"
        )
        for half, name in enumerate(("original", "held_out")):
            con.execute(
                f"CREATE TABLE {name} AS SELECT * EXCLUDE half FROM numbered WHERE half = {half}"
            )
            con.execute(f"COPY {name} TO '{folder / name}.csv'")
        con.execute(f"COPY original TO '{folder / 'original.parquet'}'")
        columns = [row[0] for row in con.execute("DESCRIBE original").fetchall()]
    dbdeid.run(
        {
            "release": "synthetic",
            "source": str(folder / "original.parquet"),
            "columns": dict.fromkeys(columns, "synthesize"),
            "privacy": [{"model": "cluster_size", "k": 100}],
            "method": {"name": "condensation", "strata": ["VitalStat"], "response": "SurvTime"},
            "output": {"export": [str(folder / "synthetic.csv")]},
            "seed": 7,
        }
    )
    return {name: folder / f"{name}.csv" for name in ("original", "held_out", "synthetic")}


def attacked(python: Path, tables: dict[str, Path], released: str) -> Rates:
    files = [str(tables[name]) for name in ("original", "held_out", released)]
    command = [str(python), "-I", str(SCRIPT), *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    found: Rates = json.loads(done.stdout)
    assert tuple(found) == ATTACKS
    return found


def test_synthetic_records_tell_no_more_of_originals_than_of_others(
    python: Path, tables: dict[str, Path]
) -> None:
    for name, rates in attacked(python, tables, "synthetic").items():
        (attack, error), (control, spread) = rates["attack"], rates["control"]
        assert attack - error <= control + spread, name


def test_copies_of_the_originals_are_caught_by_every_attack(
    python: Path, tables: dict[str, Path]
) -> None:
    for name, rates in attacked(python, tables, "original").items():
        (attack, error), (control, spread) = rates["attack"], rates["control"]
        assert attack - error > control + spread, name
