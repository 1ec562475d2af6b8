"""The points of a frontier to look at first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

RISKS = (0.01, 0.05, 0.1, 0.2)  # at which the least loss is told


class Landmark(NamedTuple):
    """A point of the frontier, and why one would look at it."""

    point: Mapping[str, Any]
    why: str


def landmarks(frontier: Mapping[str, Any]) -> list[Landmark]:
    """The chosen point, the least loss at some risks, the knee, the best that beats Safe Harbor.

    Where there is none of these, the ends.

    Args:
        frontier: as `dbdeid frontier` tells it.

    Returns:
        Each point once, in ascending risk, with all reasons to look at it.
    """
    points = frontier["points"]
    ends = [Landmark(points[0], "least risk"), Landmark(points[-1], "least loss")]
    whys: dict[int, list[str]] = {}
    for point, why in list(_found(frontier)) or ends:
        whys.setdefault(point["point"], []).append(why)
    by_number = {point["point"]: point for point in points}
    return [Landmark(by_number[number], "; ".join(whys[number])) for number in sorted(whys)]


def choices(frontier: Mapping[str, Any]) -> list[str]:
    """What a spec could say under `method` to choose a point, each as a line of it."""
    points = frontier["points"]
    found = [f"choose: {{point: {(knee(points) or points[0])['point']}}}"]
    risks = [risk for risk in RISKS if risk >= points[0]["risk"]]
    if risks:
        found.append(f"choose: {{max_risk: {risks[-1]:g}}}")
    if frontier["dominating_safe_harbor"]:
        found.append("choose: {dominates: safe_harbor}")
    return found


def chosen(frontier: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The point that the spec chooses."""
    number = frontier["chosen"]
    return next((point for point in frontier["points"] if point["point"] == number), None)


def knee(points: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The point furthest below the straight line from the first point to the last.

    None where no point is below it. Points are in ascending risk.
    """
    first, last = points[0], points[-1]
    width, height = last["risk"] - first["risk"], first["loss"] - last["loss"]

    def below(point: Mapping[str, Any]) -> float:
        return float(
            (first["loss"] - point["loss"]) * width - (point["risk"] - first["risk"]) * height
        )

    best = max(points, key=below)
    return best if below(best) > 0 else None


def _found(frontier: Mapping[str, Any]) -> Iterator[Landmark]:
    points = frontier["points"]
    of_spec = chosen(frontier)
    if of_spec is not None:
        yield Landmark(of_spec, "chosen")
    for risk in RISKS:
        within = [point for point in points if point["risk"] <= risk]
        if within:
            yield Landmark(within[-1], f"least loss at risk ≤ {risk:g}")
    bend = knee(points)
    if bend is not None:
        yield Landmark(bend, "knee")
    rule = frontier["reference"].get("safe_harbor")
    if rule is not None and frontier["dominating_safe_harbor"]:
        better = [p for p in points if p["risk"] <= rule["risk"] and p["loss"] <= rule["loss"]]
        best = min(better, key=lambda p: (p["loss"], p["risk"]), default=None)
        if best is not None:
            yield Landmark(best, "least loss that dominates Safe Harbor")


def worth(neighbour: Mapping[str, Any], base: Mapping[str, Any]) -> float:
    """Loss that a merge adds for each unit of risk that it takes away; infinite where none goes."""
    less, more = base["risk"] - neighbour["risk"], neighbour["loss"] - base["loss"]
    return float(more / less) if less > 0 else math.inf
