"""Time the proven search under privacy models over a sensitive attribute beside that of k alone.

    python tests/benchmarks/models.py [--suppression 0.05] [--time-limit 60] [dataset …]

One quasi-identifier of each reference dataset is taken as the sensitive attribute. All searches run
in this process, k first; the ratio is of CPU seconds. Each model is searched without and with the
bound on what finer levels can keep of a class, and both must find the same.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
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
from dbdeid.lattice.sensitive_counts import Entries
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.methods.full_domain.search.optimal import optimal
from dbdeid.prepare.sensitive_conditions import Sensitive
from dbdeid.privacy import MODELS, Model
from dbdeid.privacy.common.histogram import Whole

SHARED = Path(__file__).resolve().parents[3] / "shared"
ADULT = "sex age race marital-status education native-country workclass salary-class"
CARDS = "LIMIT_BAL SEX MARRIAGE AGE PAY_0 PAY_2 default-payment-next-month"
IHIS = json.loads((SHARED / "data/synth/ihis_like.json").read_text())["qis"]
CASES = {  # file, quasi-identifiers, sensitive attribute
    "adult": ("adult.csv", ADULT.split(), "occupation"),
    "creditcard": ("creditcard_int.csv", CARDS.split(), "EDUCATION"),
    "ihis_100k": ("ihis_like_100k.csv", IHIS[:-1], IHIS[-1]),
    "ihis": ("ihis_like.csv", IHIS[:-1], IHIS[-1]),
}
K = 5
PROMISES: list[dict[str, object]] = [
    {"model": "l_diversity", "l": 3},
    {"model": "l_diversity", "l": 3, "kind": "entropy"},
    {"model": "l_diversity", "l": 3, "kind": "recursive", "c": 3},
    {"model": "l_diversity", "l": 3, "kind": "recursive", "c": 1},
    {"model": "t_closeness", "t": 0.3},
    {"model": "t_closeness", "t": 0.2},
    {"model": "t_closeness", "t": 0.1, "distance": "ordered"},
    {"model": "alpha_k", "k": 5, "alpha": 0.5},
    {"model": "alpha_k", "k": 5, "alpha": 0.3},
    {"model": "basic_beta", "beta": 4},
    {"model": "enhanced_beta", "beta": 4},
    {"model": "enhanced_beta", "beta": 1},
    {"model": "delta_disclosure", "delta": 2},
]


class Unbounded(Sensitive):
    """A condition of which only what is necessary is known further down, yes or no."""

    __slots__ = ()

    def most(self, sizes: np.ndarray, entries: Entries) -> np.ndarray:
        """All subjects of each class."""
        return sizes


def problem(
    file: str, quasi_identifiers: Sequence[str], sensitive: str
) -> tuple[Lattice, Tuples, Whole]:
    """The lattice, the tuples with the values behind each, and the whole source's values."""
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


def timed(
    lattice: Lattice, tuples: Tuples, rule: Rule, share: float, time_limit: float | None
) -> tuple[float, Found]:
    """CPU seconds of a search, and what it found."""
    start = time.process_time()
    limit = int(share * tuples.records)
    checker = NumpyChecker(lattice, tuples, rule)
    problem = Problem(lattice, tuples, checker, limit=limit, objective=LOSS, convex=True)
    found = explore(optimal, problem, time_limit=time_limit)
    return time.process_time() - start, found


def main() -> None:
    """Run the cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=["adult", "creditcard"])
    parser.add_argument("--suppression", type=float, default=0.05, help="the share that may be")
    parser.add_argument("--time-limit", type=float, help="of a search, in seconds")
    arguments = parser.parse_args()
    asked = arguments.suppression, arguments.time_limit
    for case in arguments.datasets:
        lattice, tuples, whole = problem(*CASES[case])
        bare = replace(tuples, values=())
        timed(lattice, bare, Rule(K), *asked)
        plain, found = timed(lattice, bare, Rule(K), *asked)
        size = f"{tuples.records:,} records, {lattice.size:,} transformations"
        print(f"{case}: {size}; k = {K}: {plain:.3f} CPU s, {found.checked} checks")
        for promise in PROMISES:
            model: Model = MODELS[str(promise["model"])](**promise, column=CASES[case][2])
            before, after = (
                timed(lattice, tuples, ruled(kind, model, CASES[case][2], whole), *asked)
                for kind in (Unbounded, Sensitive)
            )
            proven = before[1].proven_optimal and after[1].proven_optimal
            assert not proven or before[1].node == after[1].node
            print(
                f"  {model.model:<17}{model.declared!s:<70}"
                f"{before[1].checked:>6} -> {after[1].checked:>5} checks"
                f"{before[0]:>8.2f} -> {after[0]:>5.2f} CPU s {after[0] / plain:>6.1f} x "
                f"loss {after[1].score:.4f}  {after[1].node}" + ("" if proven else "  not proven"),
                flush=True,
            )


def ruled(kind: type[Sensitive], model: Model, column: str, whole: Whole) -> Rule:
    """The rule of k and one model."""
    condition = kind((column,), (model,), whole)
    return Rule(max(K, model.smallest_class), conditions=(condition,))


if __name__ == "__main__":
    main()
