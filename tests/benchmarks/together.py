"""What holding a release against all earlier ones costs: CPU seconds, and the share of the run.

    python tests/benchmarks/together.py [ROWS] [RELEASES]

Each release generalizes other columns of the same table; the last one repeats the first. Counted is
the CPU time of all threads of this process.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

import dbdeid
from dbdeid.rerelease import rerelease

TABLE = """
CREATE TABLE people AS
SELECT
  i * 7919 % 100000007 AS number,
  (hash(i * 10 + 1) % 64)::INTEGER AS age,
  (hash(i * 10 + 2) % 64)::INTEGER AS zip,
  (hash(i * 10 + 3) % 8)::INTEGER AS job,
  ['asthma', 'flu', 'fracture', 'none'][1 + (hash(i * 10 + 4) % 4)::INTEGER] AS illness
FROM range(?) AS r(i)
"""
LEVELS = [(0, 3, 3), (3, 0, 3), (2, 2, 3), (3, 3, 0), (2, 3, 1), (0, 3, 3)]


def spec(folder: Path, number: int) -> dict[str, Any]:
    def column(widths: list[int], upper: int) -> dict[str, Any]:
        hierarchy = {"intervals": widths, "lower": 0, "upper": upper}
        return {"role": "quasi_identifier", "hierarchy": hierarchy}

    levels = LEVELS[number % len(LEVELS)]
    return {
        "release": f"people_{number}",
        "database": str(folder / "people.duckdb"),
        "target": str(folder / f"people_{number}.duckdb"),
        "source": "people",
        "columns": {
            "number": "identifier",
            "age": column([4, 16], 64),
            "zip": column([4, 16], 64),
            "job": column([2, 4], 8),
            "illness": "sensitive",
        },
        "privacy": [
            {"model": "k_anonymity", "k": 20},
            {"model": "l_diversity", "column": "illness", "l": 2},
        ],
        "method": {
            "name": "full_domain",
            "transformation": dict(zip(("age", "zip", "job"), levels, strict=True)),
        },
    }


def main(rows: int, releases: int) -> None:
    spent: list[float] = []
    compare = rerelease.compare

    def timed(*given: Any) -> Any:
        start = time.process_time()
        found = compare(*given)
        spent.append(time.process_time() - start)
        return found

    rerelease.compare = timed
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with duckdb.connect(str(folder / "people.duckdb")) as con:
            con.execute(TABLE, [rows])
        print("earlier  compare s  run s  share  people left")
        for number in range(releases):
            start = time.process_time()
            result = dbdeid.run(spec(folder, number))
            whole = time.process_time() - start
            left = (getattr(result, "together", None) or {}).get("people", "")
            share = spent[-1] / whole
            print(f"{number:7} {spent[-1]:10.2f} {whole:6.2f} {share:6.0%}  {left}", flush=True)


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:3]]
    main(*(given + [1_000_000, 6][len(given) :]))
