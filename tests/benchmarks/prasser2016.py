"""The experiments of Prasser, Kohlmayer & Kuhn (BMC Med Inform Decis Mak 16:49, 2016), on our data.

    python tests/benchmarks/prasser2016.py [--pictures DIR] [--seconds 20] [experiment …]

Each experiment prints a table; `fig5` and `fig7` are drawn too where a folder is given. A search
has `--seconds` at most. Times are CPU seconds of one run, unless said otherwise.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import le
from pathlib import Path
from statistics import mean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from realdata import load
from search import ACS, CASES, SHARED
from shown import save, show

from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import Found, Problem, Progress, Search, explore
from dbdeid.lattice.lattice import Node
from dbdeid.lattice.objectives import LOSS
from dbdeid.lattice.rule import Rule
from dbdeid.methods.full_domain.search import predictions
from dbdeid.methods.full_domain.search.antichain import Antichain, Side
from dbdeid.methods.full_domain.search.best_first import best_first
from dbdeid.methods.full_domain.searches import SEARCHES

DATASETS = ("adult", "creditcard", "ss13_8", "ss13_12", "ihis_100k")
SHARE = 0.05  # of the records may be suppressed
K = 5


def problem_of(case: str, k: int = K, share: float = SHARE, qis: int | None = None) -> Problem:
    """A dataset under k-anonymity, with a checker that has looked at nothing yet."""
    file, names, *_ = CASES[case]
    lattice, tuples = load(SHARED, file, tuple(names[:qis]))
    limit = int(share * tuples.records)
    checker = NumpyChecker(lattice, tuples, Rule(k))
    return Problem(lattice, tuples, checker, limit=limit, objective=LOSS)


def timed(search: Search, problem: Problem, seconds: float) -> tuple[Found, float]:
    """What a search finds, and its CPU seconds."""
    start = time.process_time()
    found = explore(search, problem, time_limit=seconds)
    return found, time.process_time() - start


class Listed:
    """Table 1's first option: all that was ever said, in a list."""

    def __init__(self, side: Side) -> None:
        self._below = side == "below"
        self._members: list[Node] = []

    def covers(self, node: Node) -> bool:
        if self._below:
            return any(all(map(le, node, member)) for member in self._members)
        return any(all(map(le, member, node)) for member in self._members)

    def add(self, node: Node) -> bool:
        self._members.append(node)
        return True

    def __len__(self) -> int:
        return len(self._members)


class ListedAntichain(Listed):
    """Table 1's second option: a list of the extremes."""

    def add(self, node: Node) -> bool:
        if self.covers(node):
            return False
        self._members = [m for m in self._members if not self._covered(m, node)]
        self._members.append(node)
        return True

    def _covered(self, member: Node, node: Node) -> bool:
        return all(map(le, member, node) if self._below else map(le, node, member))


class Unranked(Antichain):
    """Table 1's third option: the prefix tree without ranks."""

    def _covers(self, node: Node) -> bool:
        last = len(node) - 1
        stack = [(self._root, 0)]
        while stack:
            branch, depth = stack.pop()
            most = node[depth]
            for level, child in branch.children.items():
                if level <= most:
                    if depth == last:
                        return True
                    stack.append((child, depth + 1))
        return False


STORES: dict[str, Callable[[Side], Any]] = {
    "list": Listed,
    "list, antichain": ListedAntichain,
    "prefix tree": Unranked,
    "prefix tree, ranks": Antichain,
}
Step = tuple[Side, str, Node]


@contextmanager
def recorded() -> Iterator[list[Step]]:
    """What a search asks of its antichains, in order."""
    steps: list[Step] = []

    class Recording(Antichain):
        def __init__(self, side: Side) -> None:
            super().__init__(side)
            self.side = side

        def covers(self, node: Node) -> bool:
            steps.append((self.side, "covers", node))
            return super().covers(node)

        def add(self, node: Node) -> bool:
            steps.append((self.side, "add", node))
            return super().add(node)

    predictions.Antichain = Recording  # type: ignore[misc]
    try:
        yield steps
    finally:
        predictions.Antichain = Antichain  # type: ignore[misc]


def replay(store: Callable[[Side], Any], steps: list[Step]) -> dict[str, Any]:
    """Ask a store the same, and time it."""
    stores = {"above": store("above"), "below": store("below")}
    seconds = {"add": 0.0, "covers": 0.0}
    times = {"add": 0, "covers": 0}
    for side, name, node in steps:
        ask = getattr(stores[side], name)
        start = time.thread_time_ns()
        ask(node)
        seconds[name] += (time.thread_time_ns() - start) / 1000
        times[name] += 1
    return {
        "insertions": times["add"],
        "queries": times["covers"],
        "members": sum(map(len, stores.values())),
        "µs an insertion": round(seconds["add"] / max(times["add"], 1), 1),
        "µs a query": round(seconds["covers"] / max(times["covers"], 1), 1),
        "KB": sum(map(size_of, stores.values())) // 1024,
    }


def table1(seconds: float, pictures: Path | None) -> None:
    """Four ways to keep predictions, asked what best_first and flash ask."""
    rows = []
    for case in ("adult", "ss13_8"):
        for name in ("best_first", "flash"):
            with recorded() as steps:
                explore(SEARCHES[name], problem_of(case), time_limit=seconds)
            for store, made in STORES.items():
                row = replay(made, steps)
                rows.append({"dataset": case, "search": name, "store": store} | row)
    show("Table 1: four ways to keep predictions", rows)


def size_of(store: object) -> int:
    """The bytes that a store takes up, its nodes included, each object once."""
    seen, todo, size = set(), [store], 0
    while todo:
        thing = todo.pop()
        if id(thing) not in seen and not isinstance(thing, type | int | bool):
            seen.add(id(thing))
            size += sys.getsizeof(thing)
            todo += gc.get_referents(thing)
    return size


def fig5(seconds: float, pictures: Path | None) -> None:
    """All nodes of the lattice, against what best_first kept in antichains."""
    rows = []
    for qis in range(3, len(ACS) + 1):
        problem = problem_of("ss13_12", qis=qis)
        kept: dict[Side, Antichain] = {}

        class Kept(Antichain):
            def __init__(self, side: Side) -> None:
                super().__init__(side)
                kept[side] = self  # noqa: B023

        predictions.Antichain = Kept  # type: ignore[misc]
        found, _ = timed(best_first, problem, seconds)
        predictions.Antichain = Antichain  # type: ignore[misc]
        of_node = sys.getsizeof(problem.lattice.top) + 8  # a tuple, and where it is
        rows.append(
            {
                "QIs": qis,
                "nodes": problem.lattice.size,
                "a byte a node, KB": round(problem.lattice.size / 1024, 1),
                "all nodes, KB": round(problem.lattice.size * of_node / 1024, 1),
                "antichains, KB": round(sum(map(size_of, kept.values())) / 1024, 1),
                "members": sum(map(len, kept.values())),
                "checked": found.checked,
                "proven": found.proven_optimal,
            }
        )
    show("Fig. 5: explicit and implicit storage", rows)
    if pictures:
        picture(
            pictures / "fig5.svg",
            [
                {"nodes": row["nodes"], "KB": row[how], "storage": how.removesuffix(", KB")}
                for row in rows
                for how in ("a byte a node, KB", "all nodes, KB", "antichains, KB")
            ],
            x="nodes",
            y="KB",
            colour="storage",
            logarithmic=True,
        )


def table2(seconds: float, pictures: Path | None) -> None:
    """Tables 2 and 4: what each search checks and predicts, and how long it takes."""
    rows = []
    for case in DATASETS:
        for name, search in SEARCHES.items():
            found, cpu = timed(search, problem_of(case), seconds)
            counts = found.statistics
            rows.append(
                {
                    "dataset": case,
                    "nodes": found.lattice_size,
                    "search": name,
                    "checks": found.checked,
                    "predicted": sum(n for c, n in counts.items() if c.endswith("predicted")),
                    "members": sum(counts.get(c, 0) for c in MEMBERS),
                    "tree": sum(n for c, n in counts.items() if c.endswith("_tree")),
                    "CPU s": round(cpu, 3),
                    "loss": round(found.score, 6),
                    "bound": round(found.lower_bound, 6),
                    "proven": found.proven_optimal,
                }
            )
    show("Tables 2 and 4: the searches", rows)


MEMBERS = ("hopeless", "insufficient", "satisfy", "do_not")


def table3(seconds: float, pictures: Path | None) -> None:
    """best_first with and without prediction, by the number of quasi-identifiers."""
    rows = []
    for qis in range(3, 11):
        row: dict[str, Any] = {"QIs": qis}
        for name, predict in (("with", True), ("without", False)):
            problem = problem_of("ss13_12", qis=qis)
            found, cpu = timed(partial(best_first, predict=predict), problem, seconds)
            row["nodes"] = found.lattice_size
            row[f"checks {name}"] = found.checked
            row[f"CPU s {name}"] = round(cpu, 3)
            row[f"proven {name}"] = found.proven_optimal
        rows.append(row)
    show("Table 3: best_first with and without prediction", rows)


def fig7(seconds: float, pictures: Path | None) -> None:
    """Quality, 1 - loss, of the best so far over time."""
    rows, steps = [], []
    for case in DATASETS:
        curves = {}
        for name in ("optimal", "best_first", "igreedy", "datafly"):
            problem, seen = problem_of(case), [(0.0, 0.0)]
            start = time.perf_counter()

            def tell(now: Progress, start: float = start, seen: list[Any] = seen) -> None:
                if now.best < 1 - seen[-1][1]:
                    seen.append((time.perf_counter() - start, 1 - now.best))

            found = explore(SEARCHES[name], problem, time_limit=seconds, progress=tell)
            end = time.perf_counter() - start
            curves[name] = [*seen[1:], (end, seen[-1][1])]
            rows.append(
                {
                    "dataset": case,
                    "search": name,
                    "first s": round(curves[name][0][0], 3),
                    "best s": round(curves[name][-2][0], 3),
                    "end s": round(end, 3),
                    "quality": round(quality_of(found), 6),
                    "proven": found.proven_optimal,
                }
            )
        last = max(curve[-1][0] for curve in curves.values())
        steps += [
            {"dataset": case, "search": name, "seconds": max(at, 0.001), "quality": quality}
            for name, curve in curves.items()
            for at, quality in [*curve, (last, curve[-1][1])]
        ]
    show("Fig. 7: quality over time", rows)
    if pictures:
        picture(
            pictures / "fig7.svg",
            steps,
            x="seconds",
            y="quality",
            colour="search",
            facet="dataset",
        )


def table5(seconds: float, pictures: Path | None) -> None:
    """Quality at the time that a heuristic takes, and how much better it is in percent."""
    rows = []
    for case in DATASETS:
        for k in (3, 5, 10):
            for share in (0.0, 0.01, 0.05):
                for heuristic in ("igreedy", "datafly"):
                    rows.append(compare(case, k, share, heuristic, seconds))
    show("Table 5: quality in the same (wall) time", rows)
    for heuristic in ("igreedy", "datafly"):
        of = [row for row in rows if row["heuristic"] == heuristic and row["quality"]]
        for name in ("optimal", "best_first"):
            better = [100 * (row[name] / row["quality"] - 1) for row in of]
            worse = sum(gain < -1e-9 for gain in better)
            print(
                f"{name} beside {heuristic}: {mean(better):+.1f} % in quality on average, "
                f"worse in {worse} of {len(of)}"
            )


def compare(case: str, k: int, share: float, heuristic: str, most: float) -> dict[str, Any]:
    """Let a heuristic end, and give others the same time."""
    problem = problem_of(case, k, share)
    start = time.perf_counter()
    guess = explore(SEARCHES[heuristic], problem, time_limit=most)
    took = time.perf_counter() - start
    row = {"dataset": case, "k": k, "limit": share, "heuristic": heuristic, "s": round(took, 3)}
    row["quality"] = round(quality_of(guess), 6)
    for name in ("optimal", "best_first"):
        found = explore(SEARCHES[name], problem_of(case, k, share), time_limit=took)
        row[name] = round(quality_of(found), 6)
    return row


def quality_of(found: Found) -> float:
    """1 - loss, and 0 where nothing was found."""
    return 1 - found.score if found.score <= 1 else 0.0


def picture(
    path: Path,
    rows: list[dict[str, Any]],
    *,
    x: str,
    y: str,
    colour: str,
    logarithmic: bool = False,
    facet: str | None = None,
) -> None:
    """Draw lines over a logarithmic axis."""
    import altair as alt
    import pandas as pd

    scale = alt.Scale(type="log") if logarithmic else alt.Scale(zero=False)
    chart = (
        alt.Chart(pd.DataFrame(rows))
        .mark_line(point=logarithmic, interpolate="linear" if logarithmic else "step-after")
        .encode(
            x=alt.X(x, type="quantitative", scale=alt.Scale(type="log")),
            y=alt.Y(y, type="quantitative", scale=scale),
            color=alt.Color(colour, type="nominal"),
        )
        .properties(width=320, height=220)
    )
    if facet:
        chart = chart.facet(facet=alt.Facet(facet, type="nominal"), columns=2)
        chart = chart.resolve_scale(x="independent", y="independent")
    save(chart, path)


EXPERIMENTS = {f.__name__: f for f in (table1, fig5, table2, table3, fig7, table5)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("experiments", nargs="*", help=", ".join(EXPERIMENTS))
    parser.add_argument("--pictures", type=Path, help="folder")
    parser.add_argument("--seconds", type=float, default=20.0, help="a search has at most")
    arguments = parser.parse_args()
    for name in arguments.experiments or EXPERIMENTS:
        EXPERIMENTS[name](arguments.seconds, arguments.pictures)
