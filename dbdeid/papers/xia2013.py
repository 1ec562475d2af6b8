"""Xia, Heatherly, Ding, Li & Malin (CODASPY 2013): Figures 5 to 9.

Adult records with ZIP codes of Tennessee against its people, by age, race, sex and ZIP code, on two
Tennessees; without their tables, Adult against itself. Areas are those under the frontier in the
plane of risk and loss: smaller is better. `cost` is not of the paper.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from math import dist
from statistics import mean, stdev
from typing import Any, NamedTuple

import numpy as np

from dbdeid.engine.engines import ENGINE
from dbdeid.engine.session import Session
from dbdeid.methods.policy.baselines.bisection import bisected
from dbdeid.methods.policy.baselines.nsga2 import Nsga2
from dbdeid.methods.policy.baselines.sublattice import SublatticeSearch
from dbdeid.methods.policy.cells import POLICIES
from dbdeid.methods.policy.search.frontier import Frontier, Log, Search, dominates, explore
from dbdeid.methods.policy.search.greedy import greedy
from dbdeid.methods.policy.search.merges import Walk
from dbdeid.methods.policy.search.policies import Bits, Gauge, Ints
from dbdeid.methods.policy.search.random_chain import random_chain
from dbdeid.methods.policy.sql_policies import SqlGauge, upload_cells
from dbdeid.papers import tennessee
from dbdeid.papers.common.charts import Look, lines, scatter
from dbdeid.papers.common.data import Data
from dbdeid.papers.common.outcome import Asked, Beside, Outcome, Picture, Row, Table

BUDGETS = (20, 50, 100, 200, 500, 1000, 2000, 5000)  # policies; and the whole budget
QUICK = 1000
Plane = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Way:
    """A search of the comparison.

    Attributes:
        search: of the frontier.
        planned: nothing is drawn, so that one run is all; and not all that is charged to the budget
            is evaluations, so that each budget is a run of its own.
        slow: a run takes long, so that there is one.
    """

    search: Search
    planned: bool = False
    slow: bool = False


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
_STATES = "the paper's sample of a state is not published"


class Run(NamedTuple):
    """What a search found, and the CPU seconds that it took."""

    log: Log
    seconds: float


@cache
def gauge_of(data: Data, state: str) -> Gauge:
    """Risk against the people of a state, loss as KL divergence."""
    return Gauge(tennessee.cells(data, state))


def budget_of(asked: Asked, state: str) -> int:
    """The paper's budget: twenty maximal chains."""
    return asked.of(POLICIES * (gauge_of(asked.data, state).space.length + 1), QUICK)


@cache
def run(data: Data, state: str, way: str, budget: int, seed: int) -> Run:
    """One search."""
    gauge = gauge_of(data, state)
    start = time.process_time()
    log = explore(WAYS[way].search, gauge, budget, np.random.default_rng(seed))
    return Run(log, time.process_time() - start)


def areas(asked: Asked, state: str, way: str, budgets: Sequence[int], seed: int) -> list[float]:
    """The areas that a search has after these numbers of policies."""
    if WAYS[way].planned:
        return [run(asked.data, state, way, n, seed).log.frontier.area for n in budgets]
    found = run(asked.data, state, way, budgets[-1], seed).log.areas(np.array(budgets))
    return [float(one) for one in found]


def searches(names: Iterable[str] = WAYS) -> list[str]:
    """Those that can be run: the genetic algorithm needs pymoo."""
    return [name for name in names if name != "NSGA-II" or find_spec("pymoo")]


def _described(asked: Asked) -> str:
    states = tennessee.states(asked.data)
    if states == [tennessee.SAMPLE]:
        return (
            "UCI Adult by age, race, sex and native country, each record one of a population that "
            "is the sample itself: no Tennessee was given"
        )
    return f"Adult records in the {' and the '.join(states)} Tennessee"


def _outcome(asked: Asked, beside: list[Beside], tables: list[Table], *drawn: Picture) -> Outcome:
    missing = [] if find_spec("pymoo") else ["without NSGA-II: pip install 'dbdeid[papers]'"]
    return Outcome(_described(asked), beside, tables, drawn, missing)


def points(frontier: Frontier) -> list[Plane]:
    """Risk and loss of a frontier, each once."""
    return list(zip(frontier.risks, frontier.losses, strict=True))


def beaten(these: Iterable[Plane], frontier: Frontier) -> float:
    """The share of points that a frontier strictly dominates."""
    return mean(frontier.dominated(*point) for point in these)


def area(asked: Asked) -> Outcome:
    """Figure 5: the area against the policies evaluated."""
    drawn: list[Row] = []
    tables, ratios = [], []
    for state in tennessee.states(asked.data):
        full = budget_of(asked, state)
        budgets = [*(n for n in BUDGETS if n < full), full]
        rows, at_100 = [], {}
        for way in searches():
            own = WAYS[way]
            seeds = range(1 if own.planned or own.slow else asked.of(20, 3))
            found = [areas(asked, state, way, budgets, seed) for seed in seeds]
            row: dict[str, Any] = {"": way, "runs": len(seeds)}
            for budget, values in zip(budgets, zip(*found, strict=True), strict=True):
                row[f"@{budget:,}"] = spread(values)
                drawn.append(
                    {"state": state, "search": way, "policies": budget, "area": mean(values)}
                )
            at_100[way] = mean(values[budgets.index(100)] for values in found)
            whole = [run(asked.data, state, way, full, seed) for seed in seeds]
            row["points"] = f"{mean(len(one.log.frontier) for one in whole):,.0f}"
            row["CPU s"] = f"{mean(one.seconds for one in whole):.1f}"
            rows.append(row)
        tables.append(Table(f"area ± standard deviation of runs, {state}", rows))
        ratios.append(at_100["sublattice, TH .25"] / at_100["random chain"])
    line = Beside(
        "area of the paper's search beside random chains, 100 policies",
        "smaller (drawn, not printed)",
        f"{min(ratios):.2f} to {max(ratios):.2f} of it",
        f"much of the lead is the start, top and bottom; {_STATES}, nor is the threshold TH",
    )
    look = Look("state", order=[*WAYS], log_x=True, log_y=True)
    chart = lines(drawn, "policies", "area", "search", look)
    return _outcome(
        asked, [line], tables, Picture("xia2013_area", "area against policies evaluated", chart)
    )


def spread(found: Sequence[float]) -> str:
    """A mean, and how far single runs are from it."""
    told = f"{mean(found):.3f}"
    return f"{told} ± {stdev(found):.3f}" if len(found) > 1 else told


def improvement(asked: Asked) -> Outcome:
    """Figure 6: what a sublattice promises (H) and the share of its policies that are new."""
    rows, found = [], []
    drawn: list[Row] = []
    many = asked.of(24_240, 200)
    for state in tennessee.states(asked.data):
        gauge = gauge_of(asked.data, state)
        frontier = explore(SublatticeSearch(), gauge, 400, np.random.default_rng(1)).frontier
        rng = np.random.default_rng(2)
        lists = tennessee.share_of_new(gauge, frontier, many, rng, each=10)
        promised, kept = map(np.array, lists)
        found.append(float(np.corrcoef(promised, kept)[0, 1]))
        row: dict[str, Any] = {"": state, "sublattices": many, "Pearson": f"{found[-1]:.3f}"}
        fifth = np.minimum((promised * 5).astype(int), 4)
        for i in range(5):
            inside = kept[fifth == i]
            told = f"{inside.mean():.2f} ({len(inside)})" if len(inside) else "–"
            row[f"H {i / 5:.1f}–{(i + 1) / 5:.1f}"] = told
        rows.append(row)
        shown = min(many, 2000)
        drawn += [
            {"H": h, "share that is new": e, "state": state}
            for h, e in zip(promised[:shown].tolist(), kept[:shown].tolist(), strict=True)
        ]
    line = Beside(
        "correlation of H with the share of policies that are new",
        ".864 over 24,240 sublattices",
        " and ".join(f"{one:.3f}" for one in found) + f" over {many:,}",
        f"terms of H are capped, or it leaves [0, 1] and the correlation falls; {_STATES}",
    )
    title = "share of policies that are new, by what their sublattice promises (sublattices)"
    chart = scatter(drawn, "H", "share that is new", Look("state"))
    words = "H of each sublattice against the share of its policies that are new"
    return _outcome(
        asked, [line], [Table(title, rows)], Picture("xia2013_improvement", words, chart)
    )


def frontiers(asked: Asked) -> Outcome:
    """Figure 7: the frontiers with the whole budget, and which are dominated by which."""
    drawn: list[Row] = []
    tables, dominated = [], []
    for state in tennessee.states(asked.data):
        found = {way: _frontier(asked, state, way) for way in searches(DRAWN)}
        rows = []
        for way, frontier in found.items():
            row: dict[str, Any] = {"": way, "points": len(frontier), "policies": frontier.policies}
            for other, by in found.items():
                row[f"dominated by {other}"] = f"{beaten(points(frontier), by):.1%}"
            rows.append(row)
            drawn += [_point(state, way, point) for point in points(frontier)]
        tables.append(Table(f"frontiers of {budget_of(asked, state):,} policies, {state}", rows))
        dominated.append(rows[0]["dominated by sublattice, TH .25"])
    line = Beside(
        "points of random chains that the paper's search dominates",
        "drawn, not printed",
        " and ".join(dominated),
        f"single runs of the two cross each other; {_STATES}",
    )
    words = "the frontiers in the plane of risk and loss"
    return _outcome(asked, [line], tables, Picture("xia2013_frontiers", words, plane(drawn)))


def _frontier(asked: Asked, state: str, way: str) -> Frontier:
    return run(asked.data, state, way, budget_of(asked, state), 0).log.frontier


def _point(state: str, kind: str, at: Plane) -> Row:
    return {"state": state, "policies": kind, "risk": at[0], "loss": at[1]}


def safe_harbor(asked: Asked) -> Outcome:
    """Figure 8(a): the frontiers beside Safe Harbor."""
    drawn: list[Row] = []
    tables, better_ones = [], []
    for state in tennessee.states(asked.data):
        reference = _rule(asked, state)
        rows = []
        for way in searches(DRAWN):
            frontier = _frontier(asked, state, way)
            better = [at for at in points(frontier) if dominates(at, reference)]
            far = [dist(at, reference) for at in better]
            rows.append(
                {
                    "": way,
                    "dominate it": len(better),
                    "mean distance": f"{mean(far):.4f}" if far else "–",
                    "least": f"{min(far):.4f}" if far else "–",
                    "least risk": f"{min(at[0] for at in better):.4f}" if better else "–",
                    "least loss": f"{min(at[1] for at in better):.4f}" if better else "–",
                }
            )
            drawn += [_point(state, way, at) for at in points(frontier) if near(at, reference)]
            if way == "sublattice, TH .25":
                better_ones.append(f"{len(better)} of {len(frontier)} points")
        drawn.append(_point(state, "Safe Harbor", reference))
        risk, loss = reference
        tables.append(
            Table(f"beside Safe Harbor (risk {risk:.4f}, loss {loss:.4f}), {state}", rows)
        )
    line = Beside(
        "points of the paper's search that dominate Safe Harbor",
        "some: the rule is far from the frontier",
        " and ".join(better_ones),
        f"how many says how densely the frontier is known; {_STATES}",
    )
    words = "the frontiers around Safe Harbor"
    return _outcome(asked, [line], tables, Picture("xia2013_safe_harbor", words, plane(drawn)))


def _rule(asked: Asked, state: str) -> Plane:
    return gauge_of(asked.data, state)(tennessee.safe_harbor(asked.data, state))


def near(at: Plane, reference: Plane) -> bool:
    """Whether a point is in the part of the plane around Safe Harbor that is drawn."""
    return at[0] <= 3 * reference[0] and at[1] <= min(2 * reference[1], 1)


def bisection(asked: Asked) -> Outcome:
    """Figure 8(b): policies by bisection on random chains, within the risk of Safe Harbor."""
    drawn: list[Row] = []
    rows, shares = [], []
    many = asked.of(500, 50)
    for state in tennessee.states(asked.data):
        gauge, reference = gauge_of(asked.data, state), _rule(asked, state)
        log, rng = Log(gauge, sys.maxsize), np.random.default_rng(0)
        start = time.process_time()
        found = [
            gauge(bisected(log, rng.permutation(gauge.space.length), reference[0]))
            for _ in range(many)
        ]
        row: dict[str, Any] = {
            "": state,
            "policies": many,
            "evaluated": log.spent,
            "CPU s": f"{time.process_time() - start:.1f}",
            "dominate Safe Harbor": sum(dominates(at, reference) for at in found),
            "least loss": f"{min(at[1] for at in found):.4f}",
        }
        for way in searches(DRAWN):
            frontier = _frontier(asked, state, way)
            row[f"dominated by {way}"] = f"{beaten(found, frontier):.1%}"
            drawn += [_point(state, way, at) for at in points(frontier) if near(at, reference)]
        shares.append(row["dominated by sublattice, TH .25"])
        drawn += [_point(state, "bisection", at) for at in found]
        drawn.append(_point(state, "Safe Harbor", reference))
        rows.append(row)
    line = Beside(
        "policies of bisection that the paper's frontier dominates",
        "drawn, not printed; 500 chains",
        f"{' and '.join(shares)} of {many}",
        _STATES,
    )
    words = "policies of bisection at the risk of Safe Harbor, beside the frontiers"
    table = Table(f"{many} random chains bisected (Benitez, Loukides & Malin 2010)", rows)
    return _outcome(asked, [line], [table], Picture("xia2013_bisection", words, plane(drawn)))


def policies(asked: Asked) -> Outcome:
    """Figure 9: two policies that dominate Safe Harbor, beside it."""
    tables = []
    for state in tennessee.states(asked.data):
        gauge, rule = gauge_of(asked.data, state), tennessee.safe_harbor(asked.data, state)
        reference = gauge(rule)
        found = [p for p in _frontier(asked, state, "greedy") if dominates(p[:2], reference)]
        chosen = {"Safe Harbor": (reference, rule)}
        if found:
            least_loss, least_risk = min(found, key=lambda p: p[1]), min(found, key=lambda p: p[0])
            for words, point in (("less loss", least_loss), ("less risk", least_risk)):
                chosen[words] = ((point[0], point[1]), gauge.space.unpack(point[2]))
        names = tennessee.labels(asked.data, state)
        rows = [
            {"": words, "risk": f"{at[0]:.4f}", "loss": f"{at[1]:.4f}"}
            | {
                name: _told(starts, names[name])
                for name, starts in zip(names, gauge.space.starts(bits), strict=True)
            }
            for words, (at, bits) in chosen.items()
        ]
        tables.append(Table(f"two policies that dominate Safe Harbor, {state}", rows))
    line = Beside(
        "two policies that dominate Safe Harbor",
        "drawn, not printed",
        "see the table",
        f"chosen here: least loss and least risk of those that do; {_STATES}",
    )
    return _outcome(asked, [line], tables)


def _told(starts: Ints, names: Sequence[str]) -> str:
    """The intervals of a policy in a few words."""
    ends = [*starts[1:], len(names)]
    parts = [
        names[a] if b == a + 1 else f"{names[a]}–{names[b - 1]}"
        for a, b in zip(starts, ends, strict=True)
    ]
    if len(parts) <= 8:
        return ", ".join(parts)
    return f"{len(parts)} of {len(names)}: {', '.join(parts[:3])}, …, {parts[-1]}"


def cost(asked: Asked) -> Outcome:
    """What a policy costs, in CPU milliseconds; not of the paper."""
    tables = []
    for state in tennessee.states(asked.data):
        with ENGINE.open(None, read_only=False) as session:
            rows = costs(session, gauge_of(asked.data, state), asked.of(10, 2))
        tables.append(Table(f"CPU milliseconds a policy, {state}", rows))
    return _outcome(asked, [], tables)


def costs(session: Session, gauge: Gauge, many: int) -> list[Row]:
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
    rows: list[Row] = []
    for density in (0.02, 0.1, 0.5, 0.9):
        drawn = [rng.random(space.length) < density for _ in range(many)]
        each = {name: f"{1000 * per(way, drawn):.2f}" for name, way in ways.items()}
        rows.append({"bits set": f"{density:.0%}", "chain": f"{1000 * merged:.2f}"} | each)
    return rows


def _merges(gauge: Gauge, bits: Bits) -> int:
    """All policies one merge away, by arrays; how many they are."""
    walk = Walk(gauge, bits)
    return sum(len(walk.neighbours(i)[0]) for i in range(len(gauge.cells.domains)))


def per(evaluated: Callable[[Bits], int], drawn: list[Bits]) -> float:
    """CPU seconds a policy that is evaluated."""
    start = time.process_time()
    number = sum(map(evaluated, drawn))
    return (time.process_time() - start) / max(number, 1)


def plane(drawn: list[Row]) -> Any:
    """Points in the plane of risk and loss, a panel a state."""
    import altair as alt

    present = [kind for kind in KINDS if any(point["policies"] == kind for point in drawn)]
    colours = alt.Scale(domain=present, range=[KINDS[kind] for kind in present])
    base = alt.Chart(alt.InlineData(values=[dict(point) for point in drawn])).encode(
        x=alt.X("risk", type="quantitative"),
        y=alt.Y("loss", type="quantitative"),
        color=alt.Color("policies", type="nominal", scale=colours, title=None),
    )
    of_searches = alt.FieldOneOfPredicate(field="policies", oneOf=[*DRAWN])
    # a step is what a frontier offers within a risk
    steps = base.mark_line(interpolate="step-after", strokeWidth=1.2)
    by_bisection = base.mark_circle(size=14, opacity=0.7).transform_filter(
        alt.FieldEqualPredicate(field="policies", equal="bisection")
    )
    reference = base.mark_point(filled=True, size=90, shape="diamond").transform_filter(
        alt.FieldEqualPredicate(field="policies", equal="Safe Harbor")
    )
    layers = alt.layer(steps.transform_filter(of_searches), by_bisection, reference)
    return layers.properties(width=360, height=360).facet(
        column=alt.Column("state", type="nominal", title=None)
    )
