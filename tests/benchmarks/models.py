"""Time the proven search under privacy models over a sensitive attribute beside that of k alone.

    python tests/benchmarks/models.py [--most-checks 0] [dataset …]

One quasi-identifier of each reference dataset is taken as the sensitive attribute. Both searches
run in this process, k first; the ratio is of CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from realdata import load

from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import Found, Problem, explore
from dbdeid.lattice.lattice import Lattice
from dbdeid.lattice.objectives import LOSS
from dbdeid.lattice.rule import Rule
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.methods.full_domain.search.optimal import optimal
from dbdeid.prepare.sensitive_conditions import Sensitive
from dbdeid.privacy import MODELS, Model
from dbdeid.privacy.common.histogram import Whole

SHARED = Path(__file__).resolve().parents[3] / "shared"
ADULT = "sex age race marital-status education native-country workclass salary-class"
IHIS = json.loads((SHARED / "data/synth/ihis_like.json").read_text())["qis"]
CASES = {  # file, quasi-identifiers, sensitive attribute
    "adult": ("adult.csv", ADULT.split(), "occupation"),
    "ihis_100k": ("ihis_like_100k.csv", IHIS[:-1], IHIS[-1]),
    "ihis": ("ihis_like.csv", IHIS[:-1], IHIS[-1]),
}
K, SHARE = 5, 0.05
PROMISES: list[dict[str, object]] = [
    {"model": "l_diversity", "l": 3},
    {"model": "l_diversity", "l": 3, "kind": "entropy"},
    {"model": "l_diversity", "l": 3, "kind": "recursive", "c": 3},
    {"model": "t_closeness", "t": 0.3},
    {"model": "t_closeness", "t": 0.2, "distance": "ordered"},
    {"model": "alpha_k", "k": 5, "alpha": 0.5},
    {"model": "basic_beta", "beta": 4},
    {"model": "enhanced_beta", "beta": 4},
    {"model": "delta_disclosure", "delta": 4},
]


def problem(case: str) -> tuple[Lattice, Tuples, Whole]:
    """The lattice, the tuples with the values behind each, and the whole source's values."""
    file, quasi_identifiers, sensitive = CASES[case]
    lattice, all_tuples = load(SHARED, file, (*quasi_identifiers, sensitive))
    *codes, value = (codes.astype(np.int64) for codes in all_tuples.codes)
    row = np.zeros(len(value), np.int64)
    for column in codes:
        _, row = np.unique(row * (column.max() + 1) + column, return_inverse=True)
    _, first = np.unique(row, return_index=True)
    _, value = np.unique(value, return_inverse=True)
    order = np.lexsort((value, row))
    weights = np.bincount(row, all_tuples.weights).astype(np.int64)
    size = int(value.max()) + 1
    values = Values(row[order], value[order], all_tuples.weights[order], size)
    tuples = Tuples(tuple(c[first].astype(np.uint32) for c in codes), weights, None, (values,))
    counts = np.bincount(value, all_tuples.weights).astype(np.int64)
    whole = Whole(counts, int(counts.sum()), tuple(range(size)))
    return Lattice(lattice.attributes[:-1]), tuples, whole


def timed(lattice: Lattice, tuples: Tuples, rule: Rule) -> tuple[float, Found]:
    """CPU seconds of a search, and what it found."""
    start = time.process_time()
    limit = int(SHARE * tuples.records)
    checker = NumpyChecker(lattice, tuples, rule)
    problem = Problem(lattice, tuples, checker, limit=limit, objective=LOSS)
    found = explore(optimal, problem)
    return time.process_time() - start, found


def main() -> None:
    """Run the cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=["adult", "ihis_100k"])
    for case in parser.parse_args().datasets:
        lattice, tuples, whole = problem(case)
        bare = replace(tuples, values=())
        timed(lattice, bare, Rule(K))
        plain, found = timed(lattice, bare, Rule(K))
        size = f"{tuples.records:,} records, {lattice.size:,} transformations"
        print(f"{case}: {size}; k = {K}: {plain:.3f} CPU s, {found.checked} checks")
        for promise in PROMISES:
            model: Model = MODELS[str(promise["model"])](**promise, column=CASES[case][2])
            rule = Rule(
                max(K, model.smallest_class),
                conditions=(Sensitive((CASES[case][2],), (model,), whole),),
            )
            cpu, found = timed(lattice, tuples, rule)
            print(
                f"  {model.model:<17}{model.declared!s:<70}{cpu:>8.3f} CPU s {cpu / plain:>6.1f} x "
                f"{found.checked:>6} checks  loss {found.score:.4f}  {found.node}"
            )


if __name__ == "__main__":
    main()
