"""Run every exact search on every optimum that ARX found, and compare the two.

    python tests/benchmarks/oracle.py [--search best_first …] [--largest 32400]

A search that ends with another score than ARX's, or with no proof, is an error. Searches of one
dataset and k share what was counted, so that the seconds are those of the first to look.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from realdata import load

from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import Problem, explore
from dbdeid.lattice.objectives import OBJECTIVES, loss_of
from dbdeid.lattice.rule import Rule
from dbdeid.methods.common.searching import Remembering
from dbdeid.methods.full_domain.searches import SEARCHES

SHARED = Path(__file__).resolve().parents[3] / "shared"
METRICS = {"dm": "discernibility", "aecs": "average_class_size", "height": "height"}
EXACT = ("optimal", "best_first", "flash", "lbs")


def run(entry: dict, checkers: dict, name: str) -> bool:
    """One search on one optimum; whether it found and proved the same."""
    lattice, tuples = load(SHARED, entry["dataset"], tuple(entry["qis"]))
    objective = OBJECTIVES[METRICS.get(entry["metric"], "loss")]
    key = entry["dataset"], tuple(entry["qis"]), entry["k"]
    if key not in checkers:
        checkers.clear()
        checkers[key] = Remembering(NumpyChecker(lattice, tuples, Rule(entry["k"])))
    limit = int(entry["suppression"] * tuples.records)
    problem = Problem(lattice, tuples, checkers[key], limit, objective)
    start = time.process_time()
    found = explore(SEARCHES[name], problem)
    cpu = time.process_time() - start
    assert found.check is not None
    if objective.name == "height":
        same = found.score == entry["arx_score"]
    elif objective.name == "average_class_size":
        same = abs(found.score - entry["arx_score"]) <= 1e-12 * found.score
    else:
        ties = (entry.get("brute_force") or {}).get("ties", [])
        same = list(found.node or ()) in [entry["optimum"], *ties]
        same &= abs(loss_of(lattice, tuples, found.check) - entry["loss"]) <= 1e-9
    good = same and found.proven_optimal
    print(
        f"{entry['id']:<34}{name:<11}{found.checked:>7} checks {cpu:>8.2f} CPU s  "
        f"{'as ARX, proven' if good else f'WRONG: {found}'}",
        flush=True,
    )
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--search", action="append", choices=EXACT, help="all by default")
    parser.add_argument("--largest", type=int, default=32_400, help="nodes of a lattice")
    arguments = parser.parse_args()
    entries = json.loads((SHARED / "oracle/full_domain.json").read_text())
    entries = [e for e in entries if e["model"] == "k" and e["lattice_size"] <= arguments.largest]
    entries.sort(key=lambda e: (e["lattice_size"], e["dataset"], e["qis"], e["k"]))
    kept: dict = {}
    results = [run(e, kept, s) for e in entries for s in arguments.search or EXACT]
    print(f"{sum(results)} of {len(results)} as ARX")
    sys.exit(not all(results))
