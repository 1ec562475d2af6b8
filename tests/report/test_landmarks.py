"""The points to look at first."""

from __future__ import annotations

import math
from typing import Any

import pytest
from frontiers import ONE_POINT, WITHOUT_CHOICE, document

from dbdeid.report.content.landmarks import choices, knee, landmarks, worth


def point(number: int, risk: float, loss: float) -> dict[str, Any]:
    return {"point": number, "risk": risk, "loss": loss}


POINTS = [
    point(1, 0.001, 1.0),
    point(2, 0.05, 0.5),
    point(3, 0.08, 0.2),
    point(4, 0.09, 0.195),
    point(5, 1.0, 0.0),
]


def told(**more: Any) -> dict[str, Any]:
    return document(**{"points": 5, **WITHOUT_CHOICE, **more}) | {"points": POINTS}


def test_each_point_is_there_once_with_all_its_reasons() -> None:
    found = landmarks(told() | {"chosen": 3})
    assert [(mark.point["point"], mark.why) for mark in found] == [
        (1, "least loss at risk ≤ 0.01"),
        (2, "least loss at risk ≤ 0.05"),
        (3, "chosen; knee; least loss that dominates Safe Harbor"),
        (4, "least loss at risk ≤ 0.1; least loss at risk ≤ 0.2"),
    ]


def test_a_frontier_that_nothing_dominates_safe_harbor_on_tells_of_none() -> None:
    none = landmarks(told(dominating_safe_harbor=0))
    assert not any("dominates" in mark.why for mark in none)


def test_without_anything_to_look_at_the_ends_are_told() -> None:
    alone = told(**{k: v for k, v in ONE_POINT.items() if k != "points"})
    (mark,) = landmarks(alone | {"points": [point(1, 1.0, 0.0)]})
    assert mark.why == "least risk; least loss"


def test_the_knee_is_furthest_below_the_line_between_the_ends() -> None:
    assert knee(POINTS) is POINTS[2]
    assert knee(POINTS[:1]) is None
    assert knee([point(1, 0, 1.0), point(2, 0.5, 0.5), point(3, 1.0, 0.0)]) is None


def test_only_what_a_point_satisfies_is_offered() -> None:
    assert choices(told(dominating_safe_harbor=3)) == [
        "choose: {point: 3}",
        "choose: {max_risk: 0.2}",
        "choose: {dominates: safe_harbor}",
    ]
    alone = told(dominating_safe_harbor=None) | {"points": [point(1, 0.5, 0.0)]}
    assert choices(alone) == ["choose: {point: 1}"]


@pytest.mark.parametrize(
    ("risk", "loss", "cost"), [(0.03, 0.6, 5.0), (0.05, 0.6, math.inf), (0.04, 0.5, 0.0)]
)
def test_a_merge_costs_loss_for_risk(risk: float, loss: float, cost: float) -> None:
    assert worth(point(0, risk, loss), POINTS[1]) == pytest.approx(cost)
