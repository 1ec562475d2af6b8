"""What a page says of a release under a policy, and what of it the public may know."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pytest
from frontiers import document
from records import full, render

from dbdeid.methods.policy.frontier_figures import FrontierFigures, FrontierPoint, kept


def figures(told: Mapping[str, Any]) -> FrontierFigures:
    known = {f.name: told[f.name] for f in fields(FrontierFigures)}
    return FrontierFigures(**known | {"points": tuple(FrontierPoint(**p) for p in told["points"])})


def record() -> Any:
    found = kept(figures(document(chosen=14)))
    risk = next(p["risk"] for p in document()["points"] if p["point"] == 14)
    weighed = {"measure": "population", "population": "people.parquet", "risk": risk}
    changed: Any = full()
    changed |= {
        "method": "policy",
        "method_parameters": {"population": "people.parquet", "choose": {"max_risk": 0.1}},
        "frontier": found,
        "weighed": weighed,
        "search": {"name": "greedy", "lattice_size": None, "bits": 25, "checked": 15011}
        | {"proven_optimal": False, "lower_bound": None},
        "suppressed_rows": 0,
        "released_rows": 30162,
    }
    changed["verification"]["promises"].append(
        {"model": "policy", "declared": weighed, "found": risk, "holds": True}
    )
    return changed


def text(audience: Any) -> str:
    """The words of the page, without its charts."""
    page = re.sub(r"(?s)<style>.*?</style>|<svg.*?</svg>", "", render(record(), audience))
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


def test_the_owner_sees_what_the_policy_was_chosen_from() -> None:
    page = text("internal")
    assert "What it was chosen from" in page
    assert "point 14 of the 26 on the risk-utility frontier" in page
    assert "Safe Harbor, which has risk 0.0837 and loss 0.39" in page
    assert "6,400,000 people of people.parquet" in page
    assert "15,011 evaluated by greedy, of 25 bits" in page
    assert "none: this method takes no record out" in page
    for labels in record()["frontier"]["policy"].values():
        assert labels[0] in page or labels == ["*"]


def test_the_frontier_is_drawn_from_what_the_record_keeps() -> None:
    page = render(record(), "internal")
    section = page[page.index('<section id="frontier">') :]
    drawn = re.findall(r"<title>Point (\d+): risk", section)
    assert {"1", "14", "26"} <= set(drawn)
    assert "policy" not in record()["frontier"]["points"][0]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("secret", ["Safe Harbor", "people.parquet", "frontier", "15,011", "6,400"])
def test_the_public_sees_nothing_of_the_frontier(secret: str) -> None:
    assert secret in text("internal") + render(record(), "internal")
    assert secret not in render(record(), "public")


def test_the_public_sees_no_risk_of_the_policy() -> None:
    risk = next(p["risk"] for p in document()["points"] if p["point"] == 14)
    assert str(risk)[:6] in render(record(), "internal")
    assert str(risk)[:6] not in render(record(), "public")
    assert "policy" in text("public")
