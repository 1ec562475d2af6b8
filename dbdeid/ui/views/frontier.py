"""The frontier of policies with its slider: each point, what it risks and loses, and its policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import Any

from dbdeid.data.figures import count
from dbdeid.report.charts.frontier_charts import least
from dbdeid.report.content import terms
from dbdeid.report.content.landmarks import chosen, knee, landmarks
from dbdeid.report.content.policies import changes, of_column, single_values

WIDTH, HEIGHT = 600.0, 220.0
MOST = 400  # points on a page: of more, those are shown that lie furthest apart
CHANGES = 6  # sentences on what changes from one point to the next


@dataclass(frozen=True, slots=True)
class Point:
    """A policy of the frontier.

    Attributes:
        place: on the slider, from 0.
        number: by which a specification chooses it.
        x, y: where it is drawn.
        risk, loss: as shares of the most.
        at_risk: the risk, rounded up, as a specification would allow it.
        classes: that it would release.
        smallest: records of the smallest.
        policy: the intervals of each quasi-identifier, in words.
        steps: what changes from the point before it.
        why: one would look at it.
        small: a class has fewer records than are promised, so that a run does not release it.
    """

    place: int
    number: int
    x: float
    y: float
    risk: str
    loss: str
    at_risk: str
    classes: str
    smallest: str
    policy: tuple[tuple[str, str], ...]
    steps: tuple[str, ...]
    why: str
    small: bool


def view(found: Mapping[str, Any] | None, k: int) -> Mapping[str, Any] | None:
    """What the page shows of a frontier; None where there is none.

    Args:
        found: as `dbdeid frontier` tells it.
        k: records that a class has at least, as is promised.
    """
    if found is None:
        return None
    points = _thinned(found)
    singles, low = single_values(found), least(found, "log")
    whys = {one.point["point"]: one.why for one in landmarks(found)}
    steps = [
        (),
        *(changes(one["policy"], other["policy"], singles) for one, other in pairwise(points)),
    ]
    start = chosen(found) or knee(found["points"]) or points[0]
    made = [
        Point(
            place,
            p["point"],
            *_drawn(p, low),
            f"{p['risk']:.4g}",
            f"{p['loss']:.4g}",
            _up(p["risk"]),
            count(p["classes"]),
            count(p["smallest_class"]),
            tuple((name, of_column(some, singles[name])) for name, some in p["policy"].items()),
            tuple(said[:CHANGES]),
            whys.get(p["point"], ""),
            p["smallest_class"] < k,
        )
        for place, (p, said) in enumerate(zip(points, steps, strict=True))
    ]
    harbor = found["reference"].get("safe_harbor")
    return {
        "points": made,
        "start": next((p.place for p in made if p.number == start["point"]), 0),
        "chosen": found["chosen"],
        "path": " ".join(f"{p.x:g},{p.y:g}" for p in made),
        "width": WIDTH,
        "height": HEIGHT,
        "risk": terms.FRONTIER_RISKS.get(found["risk"], (found["risk"], ""))[1],
        "loss": terms.FRONTIER_LOSSES.get(found["utility"], (found["utility"], ""))[0],
        "harbor": _drawn(harbor, low) if harbor else None,
        "found": count(len(found["points"])),
        "evaluated": count(found["evaluated"]),
        "warnings": found["warnings"],
        # of a search by chance another run finds other points
        "numbered": found["search"] == "greedy",
    }


def _thinned(found: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """All points, or where they are many some of them, those to look at first among them."""
    points: Sequence[Mapping[str, Any]] = found["points"]
    if len(points) <= MOST:
        return points
    kept = {round(i * (len(points) - 1) / (MOST - 1)) for i in range(MOST)}
    named = {one.point["point"] for one in landmarks(found)} | {found["chosen"]}
    return [p for i, p in enumerate(points) if i in kept or p["point"] in named]


def _drawn(point: Mapping[str, Any], low: float) -> tuple[float, float]:
    """Where a point lies: the risk to the right on a logarithmic scale, the loss upwards."""
    share = 1 - log(max(point["risk"], low)) / log(low)
    return round(WIDTH * share, 1), round(HEIGHT * (1 - point["loss"]), 1)


def _up(risk: float) -> str:
    """A risk with four digits that is not below it, so that a demand of it allows the point."""
    rounded = float(f"{risk:.4g}")
    if rounded < risk:
        digits = f"{risk:.3e}"
        rounded += 10.0 ** (int(digits.partition("e")[2]) - 3)
    return f"{min(rounded, 1.0):.10g}"
