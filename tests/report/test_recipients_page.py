"""The recipient's models in a report: side by side, drawn, and internal."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from records import full, recipients, render

from dbdeid.record.usefulness import Coefficient
from dbdeid.report.charts.recipients import forest_plot


def coefficients() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = recipients()["models"][0]["coefficients"]
    return found


def plot(rows: list[dict[str, Any]]) -> str:
    return forest_plot([Coefficient.told_by(row) for row in rows])


def places(svg: str) -> list[tuple[str, float, float]]:
    """Colour and place of each point."""
    tree = ElementTree.fromstring(svg)
    found = []
    for path in tree.iter("path"):
        at = re.fullmatch(r"translate\(([\d.]+),([\d.]+)\)", path.get("transform", ""))
        if at and path.get("fill", "").startswith("var"):
            found.append((path.get("fill", ""), float(at[1]), float(at[2])))
    return found


@pytest.mark.full
def test_a_plot_has_a_point_for_each_estimate_that_there_is() -> None:
    found = places(plot(coefficients()))
    assert sorted(colour for colour, _, _ in found) == [
        *["var(--accent)", "var(--bad)"],
        *["var(--soft)"] * 3,
    ]
    heights = sorted(y for _, _, y in found)
    assert heights == sorted({*heights})
    # above each other in the order of the rows: age at 1.4 errors, sex at -3.4, race at 1.75
    original = [x for colour, x, _ in sorted(found, key=lambda p: p[2]) if colour == "var(--soft)"]
    assert original[1] < original[0] < original[2]
    (new,) = (x for colour, x, _ in found if colour == "var(--bad)")
    assert new > original[2]


def test_a_plot_is_plain_svg_that_fits_a_phone() -> None:
    svg = plot(coefficients())
    tree = ElementTree.fromstring(svg)
    assert tree.get("width") == "340"
    texts = [text.text for text in tree.iter("text")]
    assert [t for t in texts if t and not re.fullmatch(r"−?\d+", t)] == [
        "estimate, in standard errors of the original",
        "age",
        "sex: <female>",
        "race: other",
    ]
    assert not re.search(r"http|url\(|<style|<image|href|<female", svg)
    assert set(re.findall(r'font-family="([^"]*)"', svg)) == {"inherit"}


@pytest.mark.full
def test_what_lies_far_away_is_drawn_at_the_edge() -> None:
    rows = coefficients()[:1]
    near = max(x for _, x, _ in places(plot(rows)))
    rows[0]["released"] = {"estimate": 1e6, "error": 1e6, "p": 1, "lower": -1e9, "upper": 1e9}
    far = [x for colour, x, _ in places(plot(rows)) if colour == "var(--accent)"]
    assert near < far[0] <= 340
    assert len(places(plot(rows))) == 2


def test_a_long_name_is_cut() -> None:
    rows = coefficients()[:1]
    rows[0]["name"] = "x" * 200
    assert f">{'x' * 45}…<" in plot(rows)


@pytest.mark.full
def test_the_page_tells_what_changed_and_how_values_entered() -> None:
    page = re.sub(r"\s+", " ", render(full()))
    for words in (
        "Proportional hazards (Cox) model of months, event status = 2",
        "Linear model of months, where status = 2",
        "213 records of the original, 14 more lack a value; 204 of the release.",
        "By the expected value of what a label stands for: age.",
        "the dictionary does not tell: age",
        "Compared with: sex male.",
        "no fit on the release</span> the response has one value",
        "direction, outside</td>",
        "cannot be fitted</td>",
        "5.285",
        "33.3%",
    ):
        assert words in page, words
    assert page.count("<svg") == render({**full(), "models": None}).count("<svg") + 2


def test_the_public_page_tells_nothing_of_them() -> None:
    page = render(full(), "public")
    assert page == render({**full(), "models": None}, "public")


@pytest.mark.parametrize("models", [None, {"models": [], "overall": {}}])
def test_without_models_there_is_no_section(models: Any) -> None:
    assert "recipient" not in render({**full(), "models": models})
