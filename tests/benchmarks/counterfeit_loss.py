"""The loss of counterfeit records beside that of suppression, at the same k.

    python tests/benchmarks/counterfeit_loss.py [--borrow] [--k 3 5 10] [TABLE …]

Of each table: 5 % suppressed (`full_domain`), `objective: loss` with at most 10 % counterfeits and
no ceiling, and `recoding: borrow` under h = 0.3 if asked for. Loss is the mean loss of a cell of
the real records, suppressed ones counting 1; beside it records left out or added, CPU seconds of
the whole run, and whether the run says that suppression loses less.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shown import show

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from specs import SHARED, oracle, spec_of

import dbdeid
from dbdeid.papers import hospital
from dbdeid.papers.common.data import Data
from dbdeid.papers.lee2017 import TABLES, what_of

DIABETES = "Diabetes 130"
MADE = {"credit cards": "creditcard_int.csv", "IHIS": "ihis_like_100k.csv"}
WAYS: dict[str, dict[str, Any]] = {
    "5 % suppressed": {"name": "full_domain", "suppression_limit": 0.05},
    "objective: loss": {"name": "counterfeit", "objective": "loss"},
    "recoding: borrow": {
        "name": "counterfeit",
        "objective": "loss",
        "recoding": "borrow",
        "h": 0.3,
    },
}


def described(table: str, folder: Path) -> dict[str, Any]:
    """What is released of a table."""
    if table in TABLES:
        return what_of(Data(), table, folder)
    if table == DIABETES:
        file = SHARED / "data" / "ehr" / "diabetes130.parquet"
        source = {"sql": hospital.ENCOUNTERS.format(file=file), "name": "encounters"}
        roles = hospital.columns(hospital.hierarchies(folder))
        return {"source": source, "columns": roles, "accept": "rows"}
    entries = [e for e in oracle(SHARED) if e["dataset"] == MADE[table]]
    made = spec_of(max(entries, key=lambda e: len(e["qis"])), SHARED)
    return {key: made[key] for key in ("source", "columns")}


def measured(table: str, way: str, k: int) -> dict[str, Any]:
    """One release."""
    with TemporaryDirectory() as folder:
        spec = described(table, Path(folder)) | {
            "release": "released",
            "privacy": [{"model": "k_anonymity", "k": k}],
            "method": WAYS[way],
            "evaluate": {"metrics": ["loss"]},
            "seed": 2017,
        }
        start = time.process_time()
        row: dict[str, Any] = {"table": table, "k": k, "method": way}
        try:
            found = dbdeid.run(spec)
        except dbdeid.DbdeidError as error:
            return row | {"loss": "none", "records": "", "CPU s": "", "told": str(error)[:60]}
        seconds = time.process_time() - start
        told = any(w.startswith("suppression loses less") for w in found.warnings)
        return row | {
            "loss": f"{found.loss:.4f}",
            "records": found.counterfeit_rows + found.suppressed_rows,
            "CPU s": f"{seconds:.1f}",
            "told": told,
        }


def main() -> None:
    """Print a line for each release."""
    every = [*TABLES, DIABETES, *MADE]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help=", ".join(every))
    parser.add_argument("--k", nargs="+", type=int, default=[3, 5, 10])
    parser.add_argument("--borrow", action="store_true")
    given = parser.parse_args()
    ways = [way for way in WAYS if given.borrow or "borrow" not in way]
    tables = given.tables or every
    show("loss", [measured(t, way, k) for t in tables for k in given.k for way in ways])


if __name__ == "__main__":
    main()
