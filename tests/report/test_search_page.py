"""The page of a search: every point is there, with its title, and nothing comes from outside."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, browser
from test_page import HOSTILE, Tags

from dbdeid.report.charts.search_charts import Point, grid_chart, lattice_chart, trail_chart
from dbdeid.report.search_page import render

TRAIL = ((1, float("inf"), 0.0), (2, 0.5, 0.0), (3, 0.25, 0.1), (40, 0.25, 0.25))
HOW = {
    "name": "optimal",
    "lattice_size": 60,
    "checked": 40,
    "proven_optimal": True,
    "lower_bound": 0.25,
    "gap": 0.0,
    "time_limit": None,
    "interrupted": False,
}


def point(age: int, sex: int, mark: str | None = None, **more: Any) -> Point:
    found: Any = {
        "transformation": {"age": age, "sex": sex},
        "height": age + sex,
        "score": 0.2 + 0.05 * age,
        "suppressed": 0.01,
        "feasible": True,
        "accepted": True,
        "mark": mark,
        **more,
    }
    return found


POINTS = [
    point(0, 0, feasible=False, accepted=False),
    point(1, 0, "chosen"),
    point(2, 0, "neighbour"),
    point(1, 1, "neighbour", accepted=False),
    *(point(age, 1) for age in range(2, 9)),
]


def cell(k: int, limit: float, score: float | None) -> dict[str, Any]:
    return {
        "k": k,
        "suppression_limit": limit,
        "transformation": None if score is None else {"age": 1, "sex": 0},
        "score": score,
        "loss": score,
        "suppressed_rows": 10,
        "suppressed_subjects": 8,
        "classes": 7,
        "smallest_class": 5,
        "seconds": 0.25,
        "search": HOW,
    }


def full(**more: Any) -> dict[str, Any]:
    columns = [
        {"name": name, "min_level": 0, "max_level": 4, "height": 5, "weight": 2.5}
        for name in ("age", "sex")
    ]
    neighbour = {
        "column": "age",
        "level": 2,
        "feasible": True,
        "accepted": True,
        "score": 0.3,
        "loss": 0.3,
        "suppressed_rows": 3,
        "suppressed_subjects": 2,
    }
    return {
        "release": "visits",
        "source_rows": 1000,
        "source_subjects": 800,
        "by_subject": False,
        "lattice_size": 60,
        "objective": "loss",
        "columns": columns,
        "warnings": [],
        "neighbours": [neighbour],
        "cells": [cell(5, 0.05, 0.25)],
        **cell(5, 0.05, 0.25),
        **more,
    }


GRID = [cell(k, limit, 0.1 * k + limit) for k in (3, 5, 10) for limit in (0.0, 0.05)]
GRID.append(cell(50, 0.0, None))
UNPROVEN = {"search": {**HOW, "proven_optimal": False, "gap": None}}
NOTHING = full(**{**cell(5, 0.05, None), **UNPROVEN, "neighbours": []})


def titles(page: str) -> list[str]:
    return [unescape(t) for t in re.findall(r"<title>([^<]*)</title></path>", page)]


@pytest.mark.full
@pytest.mark.parametrize(
    "search", [full(), full(cells=GRID), NOTHING], ids=["one", "grid", "nothing"]
)
def test_is_one_self_contained_well_formed_file(search: dict[str, Any]) -> None:
    page = render(search, POINTS, TRAIL)
    assert page.startswith("<!doctype html>")
    assert Tags(page).open == []
    assert not re.search(r"https?:|//[a-z]|<script|<link|<img|@import|url\(", page)
    assert "default-src 'none'" in page
    assert "do not publish" in page
    assert page == render(search, POINTS, TRAIL)


def test_every_point_says_what_it_is() -> None:
    found = titles(lattice_chart(POINTS, "Information loss"))
    assert len(found) == len(POINTS)
    assert "age 1, sex 0\nInformation loss 0.25, 1.00% suppressed: chosen" in found
    assert any(t.startswith("age 0, sex 0\n") and "suppresses too much" in t for t in found)
    assert any(t.startswith("age 1, sex 1\n") and "not allowed" in t for t in found)


def test_every_demand_that_found_something_is_a_point_of_the_plot() -> None:
    plot = grid_chart(GRID, "Information loss")
    assert plot is not None
    assert len(titles(plot)) == 6
    assert "k = 10, limit 5%" in plot
    assert ">limit 0%<" in plot
    of_limits = grid_chart([cell(5, limit, 0.1) for limit in (0.0, 0.02)], "Information loss")
    assert of_limits is not None
    assert ">k = 5<" in of_limits
    assert grid_chart([cell(50, 0.0, None)], "Information loss") is None


def test_without_anything_found_there_is_no_trail() -> None:
    assert trail_chart(TRAIL, "Information loss") is not None
    assert trail_chart(TRAIL[:1], "Information loss") is None
    assert trail_chart((), "Information loss") is None


@pytest.mark.full
def test_says_what_is_proven_and_what_is_drawn() -> None:
    assert "proven: no other choice" in render(full(), POINTS, TRAIL)
    unproven = {**HOW, "proven_optimal": False, "gap": 0.034, "checked": 40_000}
    page = render(full(search=unproven), POINTS, TRAIL)
    assert "the optimum is at most 3.4% below the loss found" in page
    assert f"Of 40,000 checked transformations {len(POINTS)} are drawn" in page
    better = {**full()["neighbours"][0], "score": 0.2}
    told = "better: the search did not get to it"
    assert told in render(full(search=unproven, neighbours=[better]), POINTS, TRAIL)
    assert told not in page
    assert "none found, not proven" in render(NOTHING, POINTS, TRAIL)


def test_a_bound_that_says_little_is_told_as_such() -> None:
    far = {**HOW, "proven_optimal": False, "gap": 0.99, "lower_bound": 0.00289}
    page = render(full(search=far, cells=[{**cell(5, 0.05, 0.25), "search": far}] * 2), [], TRAIL)
    assert "the proven bound is still far (loss at least 0.00289)" in page
    assert "no transformation has less than 0.00289" in page
    assert "<td>no</td>" in page
    blank = {**far, "gap": 1.0, "lower_bound": 0.0}
    page = render(full(search=blank), POINTS, TRAIL)
    assert "no transformation has less" not in page
    assert "proven bound is still far" not in page


def test_a_table_of_demands_is_short_and_of_one_precision() -> None:
    close = {**HOW, "proven_optimal": False, "gap": 0.0301}
    names = {"age": 1, "marital-status": 2, "sex": 0, "zip": 0}
    cells = [cell(5, 0.0, 0.25), {**cell(20, 0.0, 1), "search": close, "transformation": names}]
    page = render(full(cells=cells), POINTS, TRAIL)
    assert "<b>0.2500</b>" in page
    assert "<b>1.0000</b>" in page
    assert "<td>no, ≤ 3.1%</td>" in page
    assert "marital-status&nbsp;2</span> </code><small>2 at level 0</small>" in page
    plot = grid_chart([cell(k, 0.0, 0.1) for k in (5, 20, 1000)], "Information loss")
    assert plot is not None
    assert all(f">{k}<" in plot for k in (5, 20, 1000))


def test_names_are_escaped() -> None:
    hostile = [{**POINTS[1], "transformation": {HOSTILE: 1}}]
    search = full(release=HOSTILE, warnings=[HOSTILE], transformation={"age": 1, HOSTILE: 1})
    search["columns"][1]["name"] = HOSTILE
    page = render(search, hostile, TRAIL)  # type: ignore[arg-type]
    assert Tags(page).open == []
    assert "<script" not in page
    assert "{{ 7 * 7 }}" in page


@pytest.mark.full
def test_subjects_are_told_where_they_count() -> None:
    assert "8<small>of 800 subjects (1%)" in render(full(by_subject=True), POINTS, TRAIL)
    assert "10<small>of 1,000 records (1%)" in render(full(), POINTS, TRAIL)


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
def test_a_browser_shows_every_point_and_asks_nobody(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(render(full(cells=GRID), POINTS, TRAIL), encoding="utf-8")
    count = "[...document.querySelectorAll('{} path:has(> title)')]"
    count += ".filter(p => p.getBoundingClientRect().width > 2).length"
    with browser(tmp_path / "profile") as page:
        for width in (390, 820, 1280):
            page.load(file, width, scheme="dark" if width == 820 else "light")
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate(count.format("#lattice")) == len(POINTS)
            assert page.evaluate(count.format("#grid")) == 6
        chosen = "document.querySelector('#lattice path[fill=\"var(--good)\"] > title').textContent"
        assert page.evaluate(chosen).startswith("age 1, sex 0\n")
        colour = (
            "getComputedStyle(document.querySelector('#lattice path[fill=\"var(--bad)\"]')).fill"
        )
        assert page.evaluate(colour) == "rgb(179, 38, 30)"
        assert page.paper().startswith(b"%PDF")
        assert page.said == []
        assert set(page.requests) == {file.resolve().as_uri()}
