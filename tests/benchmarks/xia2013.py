"""The experiments of Xia, Heatherly, Ding, Li & Malin (CODASPY 2013), Figures 5 to 9, on Tennessee.

    python tests/benchmarks/xia2013.py [--states synthetic modelled] [--pictures DIR]
        [--searches NAME …] [--runs N] [--low-runs N] [experiment …]

Adult records with ZIP codes of Tennessee against its people, by age, race, sex and ZIP code. Two
Tennessees, see `tests/tennessee.py`. Areas are those under the frontier in the plane of risk and
loss: smaller is better. CPU seconds are of one process.

`cost` is not of the paper: what one policy costs, evaluated in each of the ways there are.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import dist
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

import numpy as np
from shown import save, show

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import tennessee
from sublattices import share_of_new

from dbdeid.engine.duckdb.session import Session
from dbdeid.methods.policy.baselines.bisection import bisected
from dbdeid.methods.policy.baselines.nsga2 import Nsga2
from dbdeid.methods.policy.baselines.sublattice import SublatticeSearch
from dbdeid.methods.policy.cells import POLICIES
from dbdeid.methods.policy.search.frontier import Frontier, Log, Search, dominates, explore
from dbdeid.methods.policy.search.greedy import greedy
from dbdeid.methods.policy.search.merges import Walk
from dbdeid.methods.policy.search.policies import Bits, Gauge
from dbdeid.methods.policy.search.random_chain import random_chain
from dbdeid.methods.policy.sql_policies import SqlGauge, upload_cells

SHARED = Path(__file__).resolve().parents[3] / "shared"
STATES = ("synthetic", "modelled")
LOW = (20, 50, 100, 200, 500, 1000)  # policies
HIGH = (2000, 5000)  # and the budget
SUBLATTICES = 1000
CHAINS = 150

Plane = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Way:
    """A search of the comparison.

    Attributes:
        search: of the frontier.
        planned: nothing is drawn, so that one run is all; and not all that is charged to the budget
            is evaluations, so that each budget is a run of its own.
        slow: a run takes long, so that there are fewer.
    """

    search: Search
    planned: bool = False
    slow: bool = False

    def runs(self, many: int, few: int) -> int:
        """How many runs tell what it does."""
        return 1 if self.planned else few if self.slow else many


WAYS = {
    "random chain": Way(random_chain),
    "sublattice, TH .1": Way(SublatticeSearch(0.1)),
    "sublattice, TH .25": Way(SublatticeSearch()),
    "sublattice, TH .4": Way(SublatticeSearch(0.4), slow=True),
    "sublattice, from a chain": Way(SublatticeSearch(start="chain")),
    "NSGA-II": Way(Nsga2(), slow=True),
    "greedy": Way(greedy, planned=True),
}
DRAWN = ("random chain", "sublattice, TH .25", "NSGA-II", "greedy")  # in pictures of frontiers
KINDS = {  # and their colours
    **dict(zip(DRAWN, ("#4c78a8", "#f58518", "#e45756", "#54a24b"), strict=True)),
    "bisection": "#b279a2",
    "Safe Harbor": "#000000",
}


class Run(NamedTuple):
    """What a search found, and the CPU seconds that it took."""

    log: Log
    seconds: float


@cache
def gauge_of(state: str) -> Gauge:
    """Risk against the people of a state, loss as KL divergence."""
    return Gauge(tennessee.cells(SHARED, state))


def budget_of(state: str) -> int:
    """The paper's budget: twenty maximal chains."""
    return POLICIES * (gauge_of(state).space.length + 1)


@cache
def run(state: str, way: str, budget: int, seed: int) -> Run:
    """One search."""
    gauge = gauge_of(state)
    start = time.process_time()
    log = explore(WAYS[way].search, gauge, budget, np.random.default_rng(seed))
    return Run(log, time.process_time() - start)


def areas(state: str, way: str, budgets: Sequence[int], seed: int) -> list[float]:
    """The areas that a search has after these numbers of policies."""
    if WAYS[way].planned:
        return [run(state, way, budget, seed).log.frontier.area for budget in budgets]
    found = run(state, way, budgets[-1], seed).log.areas(np.array(budgets))
    return [float(area) for area in found]


def drawn_of(asked: argparse.Namespace) -> list[str]:
    """The searches whose frontiers are drawn, of those asked for."""
    return [way for way in DRAWN if way in asked.searches]


def points(frontier: Frontier) -> list[Plane]:
    """Risk and loss of a frontier, each once."""
    return list(zip(frontier.risks, frontier.losses, strict=True))


def beaten(these: Iterable[Plane], frontier: Frontier) -> float:
    """The share of points that a frontier strictly dominates."""
    return mean(frontier.dominated(*point) for point in these)


def improvement(asked: argparse.Namespace) -> None:
    """Figure 5: what a sublattice promises (H) and the share of its policies that are new."""
    rows, drawn = [], []
    for state in asked.states:
        gauge = gauge_of(state)
        frontier = explore(SublatticeSearch(), gauge, 400, np.random.default_rng(1)).frontier
        rng = np.random.default_rng(2)
        promised, kept = map(np.array, share_of_new(gauge, frontier, SUBLATTICES, rng, each=10))
        row: dict[str, Any] = {"": state, "sublattices": len(promised)}
        row["Pearson"] = f"{np.corrcoef(promised, kept)[0, 1]:.3f}"
        tenth = np.minimum((promised * 5).astype(int), 4)
        for i in range(5):
            inside = kept[tenth == i]
            told = f"{inside.mean():.2f} ({len(inside)})" if len(inside) else "–"
            row[f"H {i / 5:.1f}–{(i + 1) / 5:.1f}"] = told
        rows.append(row)
        drawn += [
            {"H": h, "share that is new": e, "state": state}
            for h, e in zip(promised.tolist(), kept.tolist(), strict=True)
        ]
    show("share of policies that are new, by what their sublattice promises (sublattices)", rows)
    if asked.pictures:
        save(scatter(drawn), asked.pictures / "xia2013_improvement.svg")


def area(asked: argparse.Namespace) -> None:
    """Figure 6: the area against the policies evaluated."""
    drawn = []
    for state in asked.states:
        full = budget_of(state)
        low, high = [], []
        for way in asked.searches:
            own = WAYS[way]
            seeds = range(own.runs(asked.low_runs, max(asked.low_runs // 3, 1)))
            runs = [areas(state, way, LOW, seed) for seed in seeds]
            row = {"": way, "runs": str(len(seeds))}
            for budget, found in zip(LOW, zip(*runs, strict=True), strict=True):
                row[f"@{budget:,}"] = spread(found)
                drawn.append(_area(state, way, budget, mean(found)))
            low.append(row)
            seeds = range(own.runs(asked.runs, 1))
            budgets = (*HIGH, full)
            runs = [areas(state, way, budgets, seed) for seed in seeds]
            row = {"": way, "runs": str(len(seeds))}
            for budget, found in zip(budgets, zip(*runs, strict=True), strict=True):
                row[f"@{budget:,}"] = spread(found, digits=4)
                drawn.append(_area(state, way, budget, mean(found)))
            whole = [run(state, way, full, seed) for seed in seeds]
            row["points"] = f"{mean(len(one.log.frontier) for one in whole):,.0f}"
            row["CPU s"] = f"{mean(one.seconds for one in whole):.1f}"
            high.append(row)
        show(f"area ± standard deviation of runs, few policies, {state}", low)
        show(f"area ± standard deviation of runs, {state}", high)
    if asked.pictures:
        save(lines(drawn), asked.pictures / "xia2013_area.svg")


def _area(state: str, way: str, budget: int, found: float) -> dict[str, Any]:
    return {"state": state, "search": way, "policies": budget, "area": found}


def spread(found: Sequence[float], digits: int = 3) -> str:
    """A mean, and how far single runs are from it."""
    told = f"{mean(found):.{digits}f}"
    return f"{told} ± {stdev(found):.{digits}f}" if len(found) > 1 else told


def frontiers(asked: argparse.Namespace) -> None:
    """Figure 7: the frontiers with the whole budget, and which are dominated by which."""
    drawn = []
    for state in asked.states:
        found = {way: run(state, way, budget_of(state), 0).log.frontier for way in drawn_of(asked)}
        rows = []
        for way, frontier in found.items():
            row: dict[str, Any] = {"": way, "points": len(frontier), "policies": frontier.policies}
            for other, by in found.items():
                row[f"dominated by {other}"] = f"{beaten(points(frontier), by):.1%}"
            rows.append(row)
            drawn += [_point(state, way, point) for point in points(frontier)]
        show(f"frontiers of {budget_of(state):,} policies, {state}", rows)
    if asked.pictures:
        save(plane(drawn), asked.pictures / "xia2013_frontiers.svg")


def _point(state: str, kind: str, at: Plane) -> dict[str, Any]:
    return {"state": state, "policies": kind, "risk": at[0], "loss": at[1]}


def safe_harbor(asked: argparse.Namespace) -> None:
    """Figure 8: the frontiers beside Safe Harbor."""
    drawn = []
    for state in asked.states:
        gauge = gauge_of(state)
        reference = gauge(tennessee.safe_harbor(SHARED, state))
        rows = []
        for way in drawn_of(asked):
            frontier = run(state, way, budget_of(state), 0).log.frontier
            better = [at for at in points(frontier) if dominates(at, reference)]
            far = [dist(at, reference) for at in better]
            rows.append(
                {
                    "": way,
                    "dominate it": len(better),
                    "policies": sum(dominates(p[:2], reference) for p in frontier),
                    "mean distance": f"{mean(far):.4f}" if far else "–",
                    "least": f"{min(far):.4f}" if far else "–",
                    "least risk": f"{min(at[0] for at in better):.4f}" if better else "–",
                    "least loss": f"{min(at[1] for at in better):.4f}" if better else "–",
                }
            )
            drawn += [_point(state, way, at) for at in points(frontier) if near(at, reference)]
        drawn.append(_point(state, "Safe Harbor", reference))
        risk, loss = reference
        show(f"beside Safe Harbor (risk {risk:.4f}, loss {loss:.4f}), {state}", rows)
    if asked.pictures:
        save(plane(drawn), asked.pictures / "xia2013_safe_harbor.svg")


def near(at: Plane, reference: Plane) -> bool:
    """Whether a point is in the part of the plane around Safe Harbor that is drawn."""
    return at[0] <= 3 * reference[0] and at[1] <= min(2 * reference[1], 1)


def bisection(asked: argparse.Namespace) -> None:
    """Figure 9: policies by bisection on random chains, within the risk of Safe Harbor."""
    drawn = []
    for state in asked.states:
        gauge = gauge_of(state)
        reference = gauge(tennessee.safe_harbor(SHARED, state))
        log, rng = Log(gauge, sys.maxsize), np.random.default_rng(0)
        start = time.process_time()
        found = [
            gauge(bisected(log, rng.permutation(gauge.space.length), reference[0]))
            for _ in range(CHAINS)
        ]
        seconds = time.process_time() - start
        better = [at for at in found if dominates(at, reference)]
        row = {
            "": state,
            "policies": CHAINS,
            "evaluated": log.spent,
            "CPU s": f"{seconds:.1f}",
            "dominate Safe Harbor": len(better),
            "least loss": f"{min(at[1] for at in found):.4f}",
        }
        for way in drawn_of(asked):
            frontier = run(state, way, budget_of(state), 0).log.frontier
            row[f"dominated by {way}"] = f"{beaten(found, frontier):.1%}"
            drawn += [_point(state, way, at) for at in points(frontier) if near(at, reference)]
        drawn += [_point(state, "bisection", at) for at in found]
        drawn.append(_point(state, "Safe Harbor", reference))
        show(f"{CHAINS} chains bisected, {state}", [row])
    if asked.pictures:
        save(plane(drawn), asked.pictures / "xia2013_bisection.svg")


def cost(asked: argparse.Namespace) -> None:
    """What a policy costs, in CPU milliseconds."""
    for state in asked.states:
        with Session.open(None, read_only=False) as session:
            rows = costs(session, gauge_of(state))
        show(f"CPU milliseconds a policy, {state}", rows)


def costs(session: Session, gauge: Gauge) -> list[dict[str, Any]]:
    """What a policy costs in each of the ways, by the share of bits that are set."""
    rng, space = np.random.default_rng(0), gauge.space
    cells = upload_cells(session, gauge.cells)
    database = SqlGauge(session, cells, gauge.cells.domains)
    chains = 4 * (space.length + 1)
    merged = per(lambda _: len(explore(random_chain, gauge, chains, rng).risks), [space.bottom])
    ways: dict[str, Callable[[Bits], int]] = {
        "from the cells": lambda bits: len(gauge(bits)) // 2,
        "GROUP BY": lambda bits: len(database(bits)) // 2,
        "all merges, SQL": lambda bits: len(database.neighbours(bits)),
        "all merges, arrays": lambda bits: _merges(gauge, bits),
    }
    rows = []
    for density in (0.02, 0.1, 0.5, 0.9):
        policies = [rng.random(space.length) < density for _ in range(10)]
        each = {name: f"{1000 * per(way, policies):.2f}" for name, way in ways.items()}
        rows.append({"bits set": f"{density:.0%}", "chain": f"{1000 * merged:.2f}"} | each)
    return rows


def _merges(gauge: Gauge, bits: Bits) -> int:
    """All policies one merge away, by arrays; how many they are."""
    walk = Walk(gauge, bits)
    return sum(len(walk.neighbours(i)[0]) for i in range(len(gauge.cells.domains)))


def per(evaluated: Callable[[Bits], int], policies: list[Bits]) -> float:
    """CPU seconds a policy that is evaluated."""
    start = time.process_time()
    number = sum(map(evaluated, policies))
    return (time.process_time() - start) / max(number, 1)


def scatter(drawn: list[dict[str, Any]]) -> Any:
    """H against the share that is new, a panel a state."""
    import altair as alt
    import pandas as pd

    return (
        alt.Chart(pd.DataFrame(drawn))
        .mark_circle(size=12, opacity=0.35)
        .encode(
            x=alt.X("H", type="quantitative", title="H, what a sublattice promises"),
            y=alt.Y("share that is new", type="quantitative"),
        )
        .properties(width=320, height=320)
        .facet(column=alt.Column("state", title=None, sort=[*STATES]))
        # a page shows the picture as an image, whose parts have no voice
        .configure(aria=False)
    )


def lines(drawn: list[dict[str, Any]]) -> Any:
    """Areas against policies, a panel a state."""
    import altair as alt
    import pandas as pd

    log = alt.Scale(type="log", nice=False)
    return (
        alt.Chart(pd.DataFrame(drawn))
        .mark_line(point={"size": 12})
        .encode(
            x=alt.X("policies", type="quantitative", scale=log, axis=alt.Axis(grid=False)),
            y=alt.Y("area", type="quantitative", scale=log),
            color=alt.Color("search", type="nominal", sort=[*WAYS]),
        )
        .properties(width=340, height=340)
        .facet(column=alt.Column("state", title=None, sort=[*STATES]))
        .configure(aria=False)
    )


def plane(drawn: list[dict[str, Any]]) -> Any:
    """Points in the plane of risk and loss, a panel a state."""
    import altair as alt
    import pandas as pd

    present = [kind for kind in KINDS if any(point["policies"] == kind for point in drawn)]
    colours = alt.Scale(domain=present, range=[KINDS[kind] for kind in present])
    base = alt.Chart(pd.DataFrame(drawn)).encode(
        x=alt.X("risk", type="quantitative"),
        y=alt.Y("loss", type="quantitative"),
        color=alt.Color("policies", type="nominal", scale=colours, title=None),
    )
    searches = alt.FieldOneOfPredicate(field="policies", oneOf=[*DRAWN])
    # a step is what a frontier offers within a risk
    frontiers = base.mark_line(interpolate="step-after", strokeWidth=1.2)
    frontiers = frontiers.transform_filter(searches)
    bisected = base.mark_circle(size=14, opacity=0.7).transform_filter(
        alt.FieldEqualPredicate(field="policies", equal="bisection")
    )
    reference = base.mark_point(filled=True, size=90, shape="diamond").transform_filter(
        alt.FieldEqualPredicate(field="policies", equal="Safe Harbor")
    )
    return (
        alt.layer(frontiers, bisected, reference)
        .properties(width=360, height=360)
        .facet(column=alt.Column("state", type="nominal", title=None, sort=[*STATES]))
        .configure(aria=False)
    )


EXPERIMENTS = {
    one.__name__: one for one in (improvement, area, frontiers, safe_harbor, bisection, cost)
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("experiments", nargs="*", help=", ".join(EXPERIMENTS))
    parser.add_argument("--states", nargs="+", choices=STATES, default=[*STATES])
    parser.add_argument("--searches", nargs="+", choices=WAYS, default=[*WAYS])
    parser.add_argument("--runs", type=int, default=3, help="with the whole budget")
    parser.add_argument("--low-runs", type=int, default=24, help="with at most 1,000 policies")
    parser.add_argument("--pictures", type=Path, help="folder")
    arguments = parser.parse_args()
    for name in arguments.experiments or EXPERIMENTS:
        EXPERIMENTS[name](arguments)
    print(f"\n{time.process_time():.0f} CPU seconds")
