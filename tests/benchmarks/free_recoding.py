"""Blocks that choose their cells against a Mondrian with free cells of another tool (anonypy).

Both divide the same records; what their blocks read, lose and answer is worked out by the same
code, that of a release. Tables are files that DuckDB reads; columns of numbers and dates show
intervals, others sets of values. The other tool, from PyPI, is asked for in a folder of its own:

    pip install --target /tmp/anonypy --no-deps anonypy
    python tests/benchmarks/free_recoding.py TABLE [TABLE…] [--k 5] [--with /tmp/anonypy]

A table is FILE, or FILE:column,column,… for some of its columns. Printed are loss, query error and
seconds of both searches, and the ratios of ours to theirs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import dbdeid
from dbdeid.methods.local_recoding.free.planning import FreeColumns
from dbdeid.methods.local_recoding.search.blocks import Blocks, Demands

QUERIES = 200


def spec(table: str, columns: list[str], k: int) -> dict[str, Any]:
    """A release of some columns, all of them free, and as wide as their values."""
    picked = ", ".join(f'"{name}"' for name in columns)
    return {
        "release": "free",
        "source": {"sql": f"SELECT {picked} FROM '{table}'", "name": "source"},
        "columns": {name: _free(table, name) for name in columns},
        "privacy": [{"model": "k_anonymity", "k": k}],
        "method": "local_recoding",
        "evaluate": {"metrics": ["loss"]},
        "accept": "rows",
        "seed": 1,
    }


def _free(table: str, name: str) -> dict[str, Any]:
    """A free column with its domain."""
    of = f"FROM '{table}' WHERE \"{name}\" IS NOT NULL"
    kind = duckdb.sql(f"SELECT \"{name}\" FROM '{table}'").types[0]
    found: dict[str, Any] = {
        "role": "quasi_identifier",
        "hierarchy": "free",
        "reason": "a benchmark",
        "accept": ["looks_like_identifier"],
    }
    if str(kind) == "VARCHAR":
        found["domain"] = [v for (v,) in duckdb.sql(f'SELECT DISTINCT "{name}" {of}').fetchall()]
    elif str(kind) != "BOOLEAN":
        low, high = duckdb.sql(f'SELECT min("{name}"), max("{name}") {of}').fetchall()[0]
        found["hierarchy"] = {"free": True, "lower": low, "upper": high + 1}
    return found


class Watch:
    """The search, timed, and in its place that of the other tool."""

    def __init__(self, *, theirs: bool) -> None:
        self.theirs = theirs
        self.seconds = 0.0
        self._own = FreeColumns.search

    def __enter__(self) -> Watch:
        watch = self

        def search(self: FreeColumns, demands: Demands, **more: Any) -> Blocks:
            start = time.perf_counter()
            found = _mondrian(self, demands) if watch.theirs else watch._own(self, demands, **more)
            watch.seconds += time.perf_counter() - start
            return found

        FreeColumns.search = search  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        FreeColumns.search = self._own  # type: ignore[method-assign]


def _mondrian(columns: FreeColumns, demands: Demands) -> Blocks:
    """The blocks of the other tool."""
    import pandas as pd
    from anonypy.mondrian import Mondrian

    units = columns._units
    row = np.repeat(np.arange(len(units.weights)), units.weights)
    rng = np.random.default_rng(1)
    row = rng.permutation(row)
    frame = pd.DataFrame(index=range(len(row)))
    for i, scale in enumerate(columns._scales):
        codes = units.codes[i][row].astype(np.int64)
        name = f"c{i}"
        if isinstance(scale, int):
            frame[name] = pd.Series(codes).astype("category")
        else:
            frame[name] = np.asarray(scale)[codes]
    parts = Mondrian(frame, list(frame.columns)).partition(demands.k)
    block = np.empty(len(row), np.int64)
    for number, part in enumerate(parts):
        block[part] = number
    return Blocks(row, block, np.ones(len(row), np.int64)).tidied()


def measured(made: dict[str, Any], dimensions: int, *, theirs: bool) -> dict[str, float]:
    """Loss, query error and seconds."""
    with tempfile.TemporaryDirectory() as folder, Watch(theirs=theirs) as watch:
        path, place = Path(folder) / "free.json", Path(folder) / "queries"
        target = {"target": str(Path(folder) / "out.duckdb")}
        path.write_text(json.dumps(made | target))
        asked = ["--queries", str(QUERIES), "--dimensions", str(dimensions), "--quiet"]
        command = [sys.executable, "-m", "dbdeid", "workload", str(path), str(place), *asked]
        subprocess.run(command, check=True)
        evaluate = made["evaluate"] | {"queries": f"{place}/*.sql"}
        path.write_text(json.dumps(made | target | {"evaluate": evaluate}))
        start = time.perf_counter()
        found = dbdeid.run(path)
        whole = time.perf_counter() - start
        asked_of = found.record.queries
        error = asked_of.mean_relative_error if asked_of else None
        return {
            "loss": found.loss,
            "query_error": np.nan if error is None else error,
            "seconds": watch.seconds,
            "run": whole,
            "classes": found.classes,
        }


def main() -> None:
    """Print the comparison, table by table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--dimensions", type=int, default=2, help="columns of a query")
    parser.add_argument("--with", dest="tool", default="")
    given = parser.parse_args()
    if given.tool:
        sys.path.insert(0, given.tool)
    for table in given.tables:
        file, _, names = table.partition(":")
        columns = names.split(",") if names else _columns(file)
        made = spec(file, columns, given.k)
        ours = measured(made, given.dimensions, theirs=False)
        print(table, "ours", {k: round(v, 4) for k, v in ours.items()}, flush=True)
        if given.tool:
            theirs = measured(made, given.dimensions, theirs=True)
            print(table, "theirs", {k: round(v, 4) for k, v in theirs.items()})
            print(table, "ratio", {k: round(ours[k] / theirs[k], 3) for k in ours}, flush=True)


def _columns(file: str) -> list[str]:
    return [c[0] for c in duckdb.sql(f"DESCRIBE FROM '{file}'").fetchall()]


if __name__ == "__main__":
    main()
