"""Prasser, Kohlmayer & Kuhn (BMC Med Inform Decis Mak 16:49, 2016): Tables 1 to 5, Figures 5 and 7.

Loss, k = 5 and a limit of 5 % unless it says otherwise. A search has some seconds at most. Adult is
in the package; of the paper's other tables (CUP, FARS, ATUS, IHIS, ACS) those are taken whose copy
is in the folder of --data, else the stand-ins that are there.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import partial
from statistics import mean
from typing import Any

from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import Found, Problem, Progress, Search, explore
from dbdeid.lattice.objectives import LOSS
from dbdeid.lattice.rule import Rule
from dbdeid.methods.full_domain.search.best_first import best_first
from dbdeid.methods.full_domain.searches import SEARCHES
from dbdeid.papers.antichain_stores import STORES, kept, recorded, replay, size_of
from dbdeid.papers.common.charts import Look, lines
from dbdeid.papers.common.outcome import Asked, Beside, Outcome, Picture, Row, Table
from dbdeid.papers.common.tables import keys_of, load, there

# Of each dataset the table and how many of its quasi-identifiers are taken; None: all.
DATASETS: dict[str, tuple[str, int | None]] = {
    "Adult": ("adult", None),
    "CUP": ("cup", None),
    "FARS": ("fars", None),
    "ATUS": ("atus", None),
    "IHIS": ("ihis", None),
    "ACS": ("ss13", None),
    "credit card": ("creditcard_int", None),
    "ss13_like 8 QIs": ("ss13_like", 8),
    "ss13_like 12 QIs": ("ss13_like", 12),
    "ihis_like 100,000": ("ihis_like_100k", None),
}
SHARE = 0.05  # of the records may be suppressed
K = 5
MEMBERS = ("hopeless", "insufficient", "satisfy", "do_not")
HEURISTICS = ("igreedy", "datafly")
_MACHINE = "another machine, and loss where the paper has its own measure of quality"


def datasets(asked: Asked) -> list[str]:
    """The datasets that are there; only Adult where it is to be quick."""
    found = [name for name, (table, _) in DATASETS.items() if there(asked.data, table)]
    return asked.of(found, found[:1])


def _large(asked: Asked) -> str:
    """The dataset of most quasi-identifiers, for what grows with them."""
    names = [name for name, (table, _) in DATASETS.items() if there(asked.data, table)]
    return next((n for n in ("ACS", "ss13_like 12 QIs") if n in names), "Adult")


def _seconds(asked: Asked) -> float:
    """What a search has at most."""
    return asked.of(20.0, 3.0)


def problem_of(
    asked: Asked, dataset: str, k: int = K, share: float = SHARE, first: int | None = None
) -> Problem:
    """A dataset under k-anonymity, with a checker that has looked at nothing yet."""
    table, own = DATASETS[dataset]
    keys = keys_of(asked.data, table)[: first or own]
    lattice, tuples = load(asked.data, table, keys)
    limit = int(share * tuples.records)
    return Problem(
        lattice, tuples, NumpyChecker(lattice, tuples, Rule(k)), limit=limit, objective=LOSS
    )


def timed(search: Search, problem: Problem, seconds: float) -> tuple[Found, float]:
    """What a search finds, and its CPU seconds."""
    start = time.process_time()
    found = explore(search, problem, time_limit=seconds)
    return found, time.process_time() - start


def _outcome(
    names: Sequence[str], beside: Sequence[Beside], table: Table, *pictures: Picture
) -> Outcome:
    data = f"{', '.join(names)}; k = {K}, {SHARE:.0%} suppressed at most"
    lacking = [name for name in ("CUP", "FARS", "ATUS", "IHIS", "ACS") if name not in names]
    notes = [f"without the paper's {', '.join(lacking)}: --data takes your copy"] if lacking else []
    return Outcome(data, beside, [table], pictures, notes)


def stores(asked: Asked) -> Outcome:
    """Table 1: four ways to keep predictions, asked what best_first and flash ask."""
    rows: list[Row] = []
    names = datasets(asked)[:2]
    for dataset in names:
        for name in ("best_first", "flash"):
            with recorded() as steps:
                explore(SEARCHES[name], problem_of(asked, dataset), time_limit=_seconds(asked))
            for store, made in STORES.items():
                rows.append(
                    {"dataset": dataset, "search": name, "store": store, **replay(made, steps)}
                )
    ratios = [
        rows[i]["µs a query"] / max(rows[i + 3]["µs a query"], 0.1) for i in range(0, len(rows), 4)
    ]
    line = Beside(
        "a query of the ranked tree, beside a list of the same answers",
        "tabled as complexities",
        f"{min(ratios):.0f} to {max(ratios):.0f} times as fast",
        "in Python here, in Java there",
    )
    return _outcome(names, [line], Table("four ways to keep predictions", rows))


def memory(asked: Asked) -> Outcome:
    """Figure 5: all nodes of the lattice, against what best_first kept in antichains."""
    dataset = _large(asked)
    most = len(problem_of(asked, dataset).lattice.attributes)
    rows: list[dict[str, Any]] = []
    for keys in range(3, min(most, asked.of(most, 6)) + 1):
        problem = problem_of(asked, dataset, first=keys)
        with kept() as antichains:
            found, _ = timed(best_first, problem, _seconds(asked))
        of_node = sys.getsizeof(problem.lattice.top) + 8  # a tuple, and where it is
        rows.append(
            {
                "QIs": keys,
                "nodes": problem.lattice.size,
                "a byte a node, KB": round(problem.lattice.size / 1024, 1),
                "all nodes, KB": round(problem.lattice.size * of_node / 1024, 1),
                "antichains, KB": round(sum(map(size_of, antichains)) / 1024, 1),
                "members": sum(map(len, antichains)),
                "checked": found.checked,
                "proven": found.proven_optimal,
            }
        )
    ways = ("a byte a node, KB", "all nodes, KB", "antichains, KB")
    drawn = [
        {"nodes": row["nodes"], "KB": row[way], "storage": way.removesuffix(", KB")}
        for row in rows
        for way in ways
    ]
    last = rows[-1]
    line = Beside(
        "memory of the antichains beside a table of all nodes",
        "drawn, not printed",
        f"{last['all nodes, KB'] / last['antichains, KB']:.0f} times less at "
        f"{last['nodes']:,} nodes",
        "the search here is best-first from the bottom in all; sizes of objects of Python",
    )
    chart = lines(drawn, "nodes", "KB", "storage", Look(log_x=True, log_y=True))
    picture = Picture("prasser2016_memory", "memory against the size of the lattice", chart)
    return _outcome([dataset], [line], Table("explicit and implicit storage", rows), picture)


def searches(asked: Asked) -> Outcome:
    """Tables 2 and 4: what each search checks and predicts, and how long it takes."""
    rows: list[Row] = []
    names = datasets(asked)
    for dataset in names:
        for name, search in SEARCHES.items():
            found, cpu = timed(search, problem_of(asked, dataset), _seconds(asked))
            counts = found.statistics
            rows.append(
                {
                    "dataset": dataset,
                    "nodes": found.lattice_size,
                    "search": name,
                    "checks": found.checked,
                    "predicted": sum(n for c, n in counts.items() if c.endswith("predicted")),
                    "members": sum(counts.get(c, 0) for c in MEMBERS),
                    "CPU s": f"{cpu:.2f}",
                    "loss": f"{found.score:.6f}",
                    "proven": found.proven_optimal,
                }
            )
    adult = {row["search"]: row for row in rows if row["dataset"] == "Adult"}
    line = Beside(
        "nodes of Adult that are checked",
        "by ARX 1,050, or 400 with its precomputed bound",
        f"{adult['flash']['checks']} by flash, {adult['optimal']['checks']} by optimal",
        "ARX 3.9.2 on the same file, measured apart; the paper's counts are of its own settings",
    )
    return _outcome(names, [line], Table("the searches", rows))


def prediction(asked: Asked) -> Outcome:
    """Table 3: best_first with and without prediction, by the number of quasi-identifiers."""
    dataset = _large(asked)
    most = len(problem_of(asked, dataset).lattice.attributes)
    rows: list[dict[str, Any]] = []
    for keys in range(3, min(most, asked.of(10, 6)) + 1):
        row: dict[str, Any] = {"QIs": keys}
        for name, predict in (("with", True), ("without", False)):
            problem = problem_of(asked, dataset, first=keys)
            search = partial(best_first, predict=predict)
            found, cpu = timed(search, problem, _seconds(asked))
            row |= {
                "nodes": found.lattice_size,
                f"checks {name}": found.checked,
                f"CPU s {name}": f"{cpu:.2f}",
                f"proven {name}": found.proven_optimal,
            }
        rows.append(row)
    last = [row for row in rows if row["proven with"] and row["proven without"]][-1]
    line = Beside(
        "time that prediction saves",
        "tabled; its numbers are not at hand",
        f"{1 - last['checks with'] / last['checks without']:.0%} of the checks at "
        f"{last['QIs']} quasi-identifiers",
        "the bound on a node's loss is known without a check here, so that less is left to save",
    )
    return _outcome([dataset], [line], Table("best_first with and without prediction", rows))


def over_time(asked: Asked) -> Outcome:
    """Figure 7: quality, 1 - loss, of the best so far over time."""
    rows: list[Row] = []
    steps: list[Row] = []
    names = datasets(asked)
    for dataset in names:
        curves = {}
        for name in ("optimal", "best_first", *HEURISTICS):
            curve, found = _curve(asked, dataset, name)
            curves[name] = curve
            rows.append(
                {
                    "dataset": dataset,
                    "search": name,
                    "first s": f"{curve[0][0]:.3f}",
                    "best s": f"{curve[max(len(curve) - 2, 0)][0]:.3f}",
                    "end s": f"{curve[-1][0]:.3f}",
                    "quality": f"{quality_of(found):.6f}",
                    "proven": found.proven_optimal,
                }
            )
        last = max(curve[-1][0] for curve in curves.values())
        steps += [
            {"dataset": dataset, "search": name, "seconds": max(at, 0.001), "quality": quality}
            for name, curve in curves.items()
            for at, quality in [*curve, (last, curve[-1][1])]
        ]
    look = Look("dataset", log_x=True, own_axes="xy", steps=True)
    chart = lines(steps, "seconds", "quality", "search", look)
    picture = Picture("prasser2016_over_time", "quality of the best so far over time", chart)
    return _outcome(names, [], Table("quality over (wall) time", rows), picture)


def _curve(asked: Asked, dataset: str, name: str) -> tuple[list[tuple[float, float]], Found]:
    """When a search found something better, up to its end."""
    problem, seen = problem_of(asked, dataset), [(0.0, 0.0)]
    start = time.perf_counter()

    def tell(now: Progress) -> None:
        if now.best < 1 - seen[-1][1]:
            seen.append((time.perf_counter() - start, 1 - now.best))

    found = explore(SEARCHES[name], problem, time_limit=_seconds(asked), progress=tell)
    return [*seen[1:], (time.perf_counter() - start, seen[-1][1])], found


def heuristics(asked: Asked) -> Outcome:
    """Table 5: quality at the time that a heuristic takes, and how much better that is."""
    names = datasets(asked)
    rows = [
        compare(asked, dataset, k, share, heuristic)
        for dataset in names
        for k in asked.of((3, 5, 10), (5,))
        for share in (0.0, 0.01, 0.05)
        for heuristic in HEURISTICS
    ]
    beside = []
    for heuristic in HEURISTICS:
        of = [row for row in rows if row["heuristic"] == heuristic and row["quality"]]
        better = [100 * (row["optimal"] / row["quality"] - 1) for row in of]
        worse = sum(gain < -1e-9 for gain in better)
        beside.append(
            Beside(
                f"quality beside {heuristic} in its time",
                "1.4 to 4.6 % better on average, best-first search",
                f"{mean(better):.1f} % better on average, {max(better):.1f} % at most, worse in "
                f"{worse} of {len(of)} (search optimal)",
                _MACHINE,
            )
        )
    return _outcome(names, beside, Table("quality in the same (wall) time", rows))


def compare(asked: Asked, dataset: str, k: int, share: float, heuristic: str) -> dict[str, Any]:
    """Let a heuristic end, and give others the same time."""
    problem = problem_of(asked, dataset, k, share)
    start = time.perf_counter()
    guess = explore(SEARCHES[heuristic], problem, time_limit=_seconds(asked))
    took = time.perf_counter() - start
    row = {"dataset": dataset, "k": k, "limit": share, "heuristic": heuristic, "s": round(took, 3)}
    row["quality"] = round(quality_of(guess), 6)
    for name in ("optimal", "best_first"):
        found = explore(SEARCHES[name], problem_of(asked, dataset, k, share), time_limit=took)
        row[name] = round(quality_of(found), 6)
    return row


def quality_of(found: Found) -> float:
    """1 - loss, and 0 where nothing was found."""
    return 1 - found.score if found.score <= 1 else 0.0
