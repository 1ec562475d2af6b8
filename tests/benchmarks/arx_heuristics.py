"""Compare the best that dbdeid and ARX's heuristics find on wide tables in the same CPU time.

    python tests/benchmarks/arx_heuristics.py --classpath 'CLASSES:JARS' [--seconds 1 10] [table …]

`--classpath` is as in `arx.py`. ARX's time limit is of its clock, which on a busy machine is more
than it computes: what it computed is printed, and dbdeid, whose clock here is its CPU time, has the
asked seconds, but no more than ARX's thread took.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parent))
from arx import Arx, compiled, inputs
from realdata import attribute

from dbdeid.lattice.lattice import Lattice
from dbdeid.lattice.tuples import Tuples

K, SHARE = 5, 0.05
HEURISTICS = ("BEST_EFFORT_BOTTOM_UP", "BEST_EFFORT_TOP_DOWN", "BEST_EFFORT_GENETIC")
CARDS = (
    *("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", "default-payment-next-month"),
    *(f"PAY_{i}" for i in (0, 2, 3, 4, 5, 6)),
    *(f"PAY_AMT{i}" for i in range(1, 7)),
    *(f"BILL_AMT{i}" for i in range(1, 7)),
)
TABLES = {"cards_16": CARDS[:16], "cards_24": CARDS}


def ours(table: str, files: list[str], seconds: float) -> dict[str, Any]:
    """The best after so many CPU seconds, from coded tuples in memory."""
    from dbdeid.lattice import exploration
    from dbdeid.lattice.checker import NumpyChecker
    from dbdeid.lattice.objectives import LOSS
    from dbdeid.lattice.rule import Rule
    from dbdeid.methods.full_domain.search.optimal import optimal

    lattice, tuples = ground(files[0], tuple(files[1:]))
    cpu = time.process_time()
    checker = NumpyChecker(lattice, tuples, Rule(K))
    limit = int(SHARE * tuples.records)
    problem = exploration.Problem(lattice, tuples, checker, limit, LOSS, convex=True)
    with patch.object(exploration, "monotonic", time.process_time):
        found = exploration.explore(optimal, problem, time_limit=seconds)
    return {
        "thread": time.process_time() - cpu,
        "checks": found.checked,
        "loss": found.score,
        "gap": found.gap,
        "node": found.node,
        "nodes": lattice.size,
    }


@cache
def ground(data: str, hierarchies: tuple[str, ...]) -> tuple[Lattice, Tuples]:
    """The lattice and the tuples of files as ARX reads them."""
    import duckdb

    attributes, codes = [], []
    table = duckdb.read_csv(data, sep=";", all_varchar=True).fetchnumpy()
    for pair in hierarchies:
        name, path = pair.split("=", 1)
        rows = [line.split(";") for line in Path(path).read_text().splitlines() if line]
        attributes.append(attribute(name, rows))
        leaves = {row[0]: code for code, row in enumerate(rows)}
        codes.append([leaves[value] for value in table[name]])
    distinct, weights = np.unique(np.array(codes, np.uint32), axis=1, return_counts=True)
    return Lattice(tuple(attributes)), Tuples(tuple(distinct), weights.astype(np.int64))


def compare(table: str, program: list[str], asked: list[float], folder: Path, slack: float) -> None:
    """Print what each finds in each time."""
    files = inputs("creditcard_int.csv", TABLES[table], folder)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for seconds in asked:
            took = seconds
            for heuristic in HEURISTICS:
                arx = Arx(
                    program,
                    files,
                    k=K,
                    suppression=SHARE,
                    algorithm=heuristic,
                    milliseconds=int(1000 * seconds * slack),
                )
                if seconds <= 10:
                    arx()  # the machine is warm then
                found = arx()
                arx.close()
                print(line(table, seconds, heuristic, found), flush=True)
                took = min(took, found["thread"])
            found = pool.apply(ours, (table, files, took))
            print(line(table, seconds, "dbdeid", found), f"gap {found['gap']:.3f}", flush=True)


def line(table: str, seconds: float, what: str, found: dict[str, Any]) -> str:
    """One line of the table."""
    loss = "none" if found["loss"] is None else f"{found['loss']:.6f}"
    return (
        f"{table:<9} {seconds:>4} s  {what:<22}{found['thread']:>7.2f} CPU s"
        f"{found['checks']:>8} checks  loss {loss}"
    )


def main() -> None:
    """Run the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tables", nargs="*", help=", ".join(TABLES))
    parser.add_argument("--classpath", required=True, help="compiled ARX and its libraries")
    parser.add_argument("--seconds", nargs="+", type=float, default=[1, 10, 60])
    parser.add_argument("--slack", type=float, default=1.0, help="of ARX's clock on a busy machine")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        program = compiled(arguments.classpath, folder)
        for table in arguments.tables or TABLES:
            compare(table, program, arguments.seconds, folder, arguments.slack)


if __name__ == "__main__":
    main()
