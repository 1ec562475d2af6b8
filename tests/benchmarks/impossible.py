"""Counterfeit records that cannot be: how many an attacker proves, and which classes fall below k.

    python tests/benchmarks/impossible.py FOLDER [k …]

FOLDER holds `fars.parquet` and the hierarchies `fars_hierarchy_*.csv` of the ARX project's copy of
the US fatal accidents. There race is "Not a fatal(N/A)" exactly where the injury is not fatal, so
that a record with one and without the other is counterfeit for certain. Adult stands beside it: its
husbands are men and its wives women, but for a few records. Only values that are released as they
are can be told apart; a cell is: counterfeits · LM · proven · classes then below k · risk that the
method has · risk that is told, both in shares of 1/k · CPU seconds.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import duckdb
from shown import show

import dbdeid

ADULT = Path(__file__).resolve().parents[3] / "shared" / "data"
H = 0.5
# The quasi-identifiers, the sensitive column and what tells a counterfeit record.
FARS = "(irace = 'Not a fatal(N/A)') <> (iinjury <> 'Fatal Injury')"
TABLES = {
    "FARS, race given injury": (("iage", "isex", "istatenum", "iinjury"), "irace", FARS),
    "FARS, injury given race": (("iage", "irace", "isex", "istatenum"), "iinjury", FARS),
    "Adult, relationship given sex": (
        ("age", "sex", "race", "workclass"),
        "relationship",
        "(relationship = 'Wife' AND sex = 'Male') OR (relationship = 'Husband' AND sex = 'Female')",
    ),
}


def spec_of(folder: Path, table: str, k: int) -> dict[str, Any]:
    names, sensitive, _ = TABLES[table]
    if table.startswith("FARS"):
        source = folder / "fars.parquet"
        sets = {name: folder / f"fars_hierarchy_{name}.csv" for name in names}
    else:
        source = ADULT / "adult_uci.parquet"
        sets = {}
        for name in names:
            of = "adult" if name == "age" else "adult_full"
            sets[name] = ADULT / "hierarchies" / of / f"{of}_hierarchy_{name}.csv"
    columns: dict[str, Any] = {
        name: {"role": "quasi_identifier", "hierarchy": str(path)} for name, path in sets.items()
    }
    columns[sensitive] = {"role": "sensitive", "accept": "homogeneity"}
    kept = set(columns)
    described = duckdb.sql(f"DESCRIBE FROM '{source}'").fetchall()
    columns |= {name: {"role": "drop"} for name, *_ in described if name not in kept}
    return {
        "source": str(source),
        "release": "released",
        "columns": columns,
        "privacy": [{"model": "k_anonymity", "k": k}],
        "method": {"name": "counterfeit", "h": H},
        "seed": 2017,
    }


def measured(folder: Path, table: str, k: int) -> str:
    start = time.process_time()
    try:
        made = dbdeid.run(spec_of(folder, table, k))
    except dbdeid.DbdeidError:
        return "none"
    seconds = time.process_time() - start
    rows = made.to_df()
    assert made.padding is not None
    names, _, wrong = TABLES[table]
    raw = all(made.transformation.get(n, 0) == 0 for n in names if n in wrong)
    proven: Any = "–"
    below: Any = "–"
    if raw:
        con = duckdb.connect()
        con.register("rows", rows)
        proven, below = con.sql(
            f"""SELECT coalesce(sum(wrong), 0)::BIGINT,
              count(*) FILTER (wrong > 0 AND n - wrong < {k})
            FROM (SELECT class_id, count(*) AS n, count(*) FILTER ({wrong}) AS wrong
                  FROM rows GROUP BY class_id)"""
        ).fetchall()[0]
    risk, told = (made.padding[name] * k for name in ("risk", "told"))
    return (
        f"{made.counterfeit_rows} · {made.loss:.3f} · {proven} · {below} · {risk:.2f} · {told:.2f}"
        f" · {seconds:.1f}"
    )


def main() -> None:
    folder, sizes = Path(sys.argv[1]), [int(k) for k in sys.argv[2:]] or [5, 10]
    rows = [
        {"table": table} | {f"k = {k}": measured(folder, table, k) for k in sizes}
        for table in TABLES
    ]
    show("counterfeit records that cannot be", rows)


if __name__ == "__main__":
    main()
