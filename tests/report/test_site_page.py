"""The list of releases: what it shows to the house, and how little to the public."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, browser
from records import full, minimal, with_texts

from dbdeid.record.border import from_json
from dbdeid.report.content.audience import Audience
from dbdeid.report.site_page import Listed, render


def row(name: str, kept: Any, **more: Any) -> Listed:
    record = None if kept is None else from_json(kept)
    given: dict[str, Any] = {
        "release": name,
        "page": f"{name}.html" if record is not None else None,
        "record": record,
        "spec": f"releases/{name}.yml",
        "upstream": (),
        "tags": (),
        "changed": False,
        "status": None,
        "message": None,
        "verified": record is not None and record.verified,
        "expectations": record.expectations if record is not None else (),
        "state": "published",
    }
    return Listed(**given | more)


def texts(page: str) -> str:
    """What is read: no style, no markup."""
    body = page.partition("<body>")[2]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body)).replace("&nbsp;", " ")


EXPECTED = [
    {"name": "loss", "expected": "< 0.3", "found": 0.2, "holds": True},
    {"name": "query_error", "expected": "< 0.1", "found": 0.2, "holds": False},
]


def test_the_house_sees_all_of_it() -> None:
    page = texts(
        render(
            [
                row("adult", {**full(), "expectations": EXPECTED}, tags=("weekly",), changed=True),
                row(
                    "later", None, upstream=("adult",), status="failed", message="k <is> too large"
                ),
                row("glance", {**minimal(), "verified": False}),
            ],
            "internal",
        )
    )
    assert "3 releases, 1 with promises verified; 1 did not succeed in the last run" in page
    assert "in the last run; 1 below expectations" in page
    for text in ("releases/adult.yml; weekly", "the spec has changed since", "k-anonymity (k = 5)"):
        assert text in page
    assert "loss &lt; 0.3" in page
    assert "last run: failed k &lt;is&gt; too large" in page
    assert "no release yet" in page
    assert "preview" in page
    assert "28,816" in page


def test_the_public_sees_what_its_pages_tell() -> None:
    planted: dict[str, tuple[str, ...]] = {}

    def plant(path: tuple[str, ...], text: str) -> str:
        if path[-1] in ("created", "role", "method"):
            return text
        word = f"canary{len(planted):03d}x"
        planted[word] = path
        return word

    record = with_texts({**full(), "expectations": EXPECTED}, plant)
    page = render(
        [
            row(
                "adult",
                record,
                **{"upstream": ("canary900x",), "tags": ("canary901x",), "changed": True},
                **{"status": "failed", "message": "canary902x", "spec": "canary903x"},
            ),
            row("canary904x", None),
            row("canary905x", {**minimal(), "verified": False}),
        ],
        "public",
    )
    shown = {planted.get(word) for word in re.findall(r"canary\d{3}x", page)}
    assert shown == {("release",), ("privacy", "*", "model")}
    assert "1 release, 1 with promises verified." in texts(page)
    for number in ("30,162", "30162", "1,346", "10:15", "below expectations", "did not succeed"):
        assert number not in texts(page)
    assert "2026-02-03" in texts(page)


def test_the_loss_is_rounded_for_the_public() -> None:
    def losses(audience: Audience) -> list[str]:
        return re.findall(
            r'<td [^>]*data-label="Loss">((?:about )?0\.\d+)</td>',
            render([row("a", full())], audience),
        )

    assert losses("internal")[0] == f"{full()['loss']:.3f}"
    (told,) = losses("public")
    assert round(float(told.removeprefix("about ")) * 20, 9) % 1 == 0


@pytest.mark.parametrize("audience", ["internal", "public"])
def test_an_empty_site_and_hostile_names(audience: Audience) -> None:
    assert "0 releases, 0 with promises verified." in texts(render([], audience))
    page = render([row("a", {**full(), "release": "<script>"}, spec="<script>")], audience)
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
def test_no_word_of_it_is_broken_on_a_screen_or_a_phone(tmp_path: Path) -> None:
    file = tmp_path / "index.html"
    rows = [row("adult", {**full(), "expectations": EXPECTED}), row("later", None)]
    file.write_text(render(rows, "internal"), encoding="utf-8")
    lines = (
        "[...document.querySelectorAll('.releases thead th, .releases td.n')]"
        ".filter(cell => cell.checkVisibility()).map(cell => [cell.innerText, "
        "[...new Set([...cell.childNodes].flatMap(node => { const r = document.createRange(); "
        "r.selectNodeContents(node); return [...r.getClientRects()].map(b => b.top) }))].length])"
    )
    with browser(tmp_path / "profile") as page:
        for width in (390, 820, 1280):
            page.load(file, width)
            assert page.evaluate("document.documentElement.scrollWidth") == width
            for text, count in page.evaluate(lines):
                assert count <= len(text.split()), (width, text)
        page.load(file, 390)
        assert page.evaluate("document.querySelector('.releases tbody th').offsetWidth") > 300


def test_what_rests_on_what_is_drawn_with_links_for_the_house_alone() -> None:
    rows = [
        row("a<b", full()),
        row("clean", full(), upstream=("a<b",)),
        row("by_year", full(), upstream=("clean", "a<b")),
        row("later", None, upstream=("by_year",)),
        row("alone", full()),
    ]
    page = render(rows, "internal")
    svg = page[page.index("<svg") : page.index("</svg>")]
    assert "clean rests on a&lt;b; by_year rests on clean, a&lt;b; later rests on by_year" in svg
    assert re.findall(r'<a href="([^"]*)"><title>', svg) == [
        "a&lt;b.html",
        "clean.html",
        "by_year.html",
    ]
    across = {name: int(x) for name, x in re.findall(r'<title>([^<]*)</title><rect x="(\d+)"', svg)}
    assert across["a&lt;b"] < across["clean"] < across["by_year"] < across["later"]
    assert "alone" not in svg
    assert svg.count("<g>") == 1  # no page, no link
    assert 'rests on <a href="clean.html">clean</a>' in page
    assert "<svg" not in render(rows, "public")
    assert "rests on" not in render(rows, "public")
    assert "<svg" not in render(rows[:1], "internal")
    circle = [row("a", full(), upstream=("b",)), row("b", full(), upstream=("a",))]
    assert "<svg" in render(circle, "internal")
