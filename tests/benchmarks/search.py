"""Time the optimal search on the reference datasets: checks, CPU and wall seconds, peak memory.

    python tests/benchmarks/search.py [--most-checks 5000] [--time-limit 60] [dataset …]

Each dataset runs in a process of its own, so that the peak memory is its own. For comparison,
a plain best-first search (nodes by generalization loss; infeasible and bounded nodes skipped) uses
the same checker, until it is done or has made the most checks. The datasets `acs_…` have so many
nodes that only `optimal` is run on them; their records are made by the recipe of the synthetic
tables from the hierarchies of the American Community Survey.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import resource
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from realdata import attribute, load

from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import Found, Problem, explore
from dbdeid.lattice.lattice import Lattice
from dbdeid.lattice.objectives import LOSS, OBJECTIVES
from dbdeid.lattice.rule import Rule
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.full_domain.search.optimal import optimal
from dbdeid.methods.full_domain.search.region import Packing

SHARED = Path(__file__).resolve().parents[3] / "shared"
ADULT = "sex age race marital-status education native-country workclass occupation salary-class"
CARDS = "LIMIT_BAL SEX EDUCATION MARRIAGE AGE PAY_0 PAY_2 default-payment-next-month"
ACS = json.loads((SHARED / "data/synth/ss13_like.json").read_text())["qis"]
IHIS = json.loads((SHARED / "data/synth/ihis_like.json").read_text())["qis"]
CASES = {  # file, quasi-identifiers, k, share that may be suppressed
    "adult": ("adult.csv", ADULT.split(), 5, 0.05),
    "adult_s0": ("adult.csv", ADULT.split(), 5, 0.0),
    "creditcard": ("creditcard_int.csv", CARDS.split(), 5, 0.05),
    "ss13_8": ("ss13_like.csv", ACS[:8], 5, 0.05),
    "ss13_12": ("ss13_like.csv", ACS, 5, 0.05),
    "ihis_100k": ("ihis_like_100k.csv", IHIS, 5, 0.05),
    "ihis": ("ihis_like.csv", IHIS, 5, 0.05),
}
ACS_TEXT = [*ACS, "Race", "Vision", "Hearing"]  # more levels than in ss13_like
ACS_LARGE = [*ACS, "Race", "Married", "Childbirth"]
ACS_HUGE = [
    *(*ACS_TEXT, "Ambulatory", "Childbirth", "Cognitive", "Divorced", "Independent living"),
    *("Indian Health Service", "Insurance Medicaid", "Insurance Medicare", "Insurance Tricare"),
]
WIDE = {
    "acs_12": ACS,
    "acs_15": ACS_TEXT,
    "acs_15_large": ACS_LARGE,
    "acs_16": ACS_HUGE[:16],
    "acs_24": ACS_HUGE,
}
WIDE_RECORDS, LATENT_CLASSES, SEED = 68_725, 12, 20260103


def load_wide(names: list[str]) -> tuple[Lattice, Tuples]:
    """Records made by latent classes, each with its own skewed values of every attribute."""
    rng = np.random.default_rng(SEED)
    latent = rng.choice(LATENT_CLASSES, WIDE_RECORDS, p=zipf(LATENT_CLASSES))
    attributes, codes = [], []
    for name in names:
        folder = SHARED / "data/hierarchies/ss13acs"
        path = folder / f"ss13acs_hierarchy_{name.replace(' ', '_')}.csv"
        with path.open(newline="", encoding="utf-8") as lines:
            rows = [row for row in csv.reader(lines, delimiter=";") if row]
        attributes.append(attribute(name, rows))
        values = np.stack([rng.permutation(len(rows)) for _ in range(LATENT_CLASSES)])
        rank = np.searchsorted(zipf(len(rows)).cumsum()[:-1], rng.random(WIDE_RECORDS), "right")
        codes.append(values[latent, rank])
    distinct, weights = np.unique(np.stack(codes), axis=1, return_counts=True)
    return Lattice(tuple(attributes)), Tuples(tuple(distinct.astype(np.uint32)), weights)


def zipf(count: int) -> np.ndarray:
    """Shares that fall with the rank."""
    weights = 1 / np.arange(1, count + 1)
    return weights / weights.sum()


def run(case: str, objective: str, most_checks: int, time_limit: float | None) -> None:
    """Load one dataset, search it in both ways, and print a line for each."""
    if case in WIDE:
        (lattice, tuples), k, share = load_wide(WIDE[case]), 5, 0.05
    else:
        file, qis, k, share = CASES[case]
        lattice, tuples = load(SHARED, file, tuple(qis))
    limit = int(share * tuples.records)
    before = _peak()
    head = f"{case:<11}{tuples.records:>9,}{len(tuples.weights):>10,}{lattice.size:>13,}"

    start = time.process_time(), time.perf_counter()
    tally = OBJECTIVES[objective].tally
    checker = NumpyChecker(lattice, tuples, Rule(k), tally and tally(lattice, tuples))
    problem = Problem(lattice, tuples, checker, limit=limit, objective=OBJECTIVES[objective])
    found = explore(optimal, problem, time_limit=time_limit)
    cpu, wall = time.process_time() - start[0], time.perf_counter() - start[1]
    print(
        f"{head}  optimal   {found.checked:>6} checks {cpu:>7.3f} CPU s {wall:>7.3f} s  "
        f"{_peak():>5} MB (+{_peak() - before})  {objective} {found.score:.9f} {found.node} "
        + ("proven" if found.proven_optimal else f"at least {found.lower_bound:.6f}"),
        flush=True,
    )
    if most_checks and objective == "loss" and case not in WIDE:
        start_cpu = time.process_time()
        plain, done = best_first(lattice, tuples, k, limit, most_checks)
        plain_cpu = time.process_time() - start_cpu
        assert not done or plain.node == found.node
        print(
            f"{head}  best-first{plain.checked:>6} checks {plain_cpu:>7.3f} CPU s   "
            f"{'optimal' if done else 'stopped'}: {cpu / plain_cpu:.2f} of its CPU, "
            f"{found.checked / plain.checked:.2f} of its checks",
            flush=True,
        )


def best_first(lattice, tuples, k, limit, most_checks) -> tuple[Found, bool]:
    """Nodes in order of their generalization loss until none can be better."""
    checker, packing = NumpyChecker(lattice, tuples, Rule(k)), Packing(lattice)
    terms = LOSS.terms(lattice, tuples.marginals(lattice))
    blocks = [*packing.blocks(terms)]
    packed, known = (np.concatenate(part) for part in zip(*blocks, strict=True))
    bound, best, node, checked = known.copy(), np.inf, None, 0
    for place in np.argsort(known, kind="stable"):
        if known[place] >= best or checked >= most_checks:
            break
        if bound[place] >= best:
            continue
        check = checker.check(packing.node(packed[place]))
        checked += 1
        below = packing.at_most(packed, packed[place])
        if check.suppressed > limit:
            bound[below] = np.inf
            continue
        score = LOSS.score(float(known[place]), check, tuples.records)
        if score < best:
            best, node = score, check.node
        bound[below] = np.maximum(bound[below], known[below] + score - known[place])
    found = Found(node, best, None, lattice.size, checked, True, best)
    return found, checked < most_checks


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="dataset", help=", ".join([*CASES, *WIDE]))
    parser.add_argument("--time-limit", type=float, help="of optimal, in seconds")
    parser.add_argument("--objective", choices=OBJECTIVES, default="loss")
    parser.add_argument("--most-checks", type=int, default=3000, help="of best-first; 0 for none")
    arguments = parser.parse_args()
    print("dataset      records    tuples        nodes")
    for name in arguments.cases or CASES:
        process = multiprocessing.get_context("spawn").Process(
            target=run,
            args=(name, arguments.objective, arguments.most_checks, arguments.time_limit),
        )
        process.start()
        process.join()
