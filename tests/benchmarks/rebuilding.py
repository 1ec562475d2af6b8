"""What it costs to build a dictionary again: `verify` with and without, on many rows.

    python tests/benchmarks/rebuilding.py [ROWS]

A table of four quasi-identifiers, one of them with 60,000 different values, as it is released.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import duckdb

import dbdeid

PEOPLE = """
CREATE TABLE people AS SELECT i AS number, i * 7 % 90 AS age,
  lpad((1000 + i * 37 % 60000)::VARCHAR, 5, '0') AS zip,
  DATE '1945-06-01' + (i * 53 % 20000)::INTEGER AS born, i % 2 = 0 AS sex, i % 11 AS illness
FROM range({rows}) AS t (i)
"""
QUASI = {
    "age": {"intervals": [5, 10, 20], "lower": 0, "upper": 100},
    "zip": {"prefix": [3, 1]},
    "born": {"dates": ["month", "year", "decade"]},
    "sex": "suppress",
}


def main(rows: int) -> None:
    """Print seconds of CPU of both, three times each, in turn."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with duckdb.connect("owner.duckdb") as con:
            con.execute(PEOPLE.format(rows=rows))
        columns = {n: {"role": "quasi_identifier", "hierarchy": h} for n, h in QUASI.items()}
        levels = {"age": 3, "zip": 2, "born": 3, "sex": 0}
        given = {
            "release": "people_public",
            "database": "owner.duckdb",
            "target": "out.duckdb",
            "source": "people",
            "columns": {
                "number": "identifier",
                "illness": {"role": "sensitive", "accept": "homogeneity"},
                **columns,
            },
            "privacy": [{"model": "k_anonymity", "k": 2}],
            "method": {"name": "full_domain", "suppression_limit": 1.0, "transformation": levels},
            "output": {"export": ["out.parquet"]},
        }
        Path("out.yml").write_text(json.dumps(given))
        dbdeid.run("out.yml")
        for _ in range(3):
            print(f"with {seconds():.2f} s", end=", ")
            with mock.patch("dbdeid.publish.hierarchy_rules.checks", return_value=()):
                print(f"without {seconds():.2f} s of CPU")


def seconds() -> float:
    """Of CPU that one verification takes."""
    start = time.process_time()
    assert dbdeid.verify("out.yml").verified
    return time.process_time() - start


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
