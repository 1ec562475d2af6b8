"""What axe-core finds of each kind of page: wide and narrow, light and dark, folded and open."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from axe import WRONG, axe
from browser import CHROMIUM, browser
from frontiers import TENNESSEE, document
from records import failing, full, minimal, moved, padded, render
from test_search_page import POINTS, TRAIL
from test_search_page import full as searched
from test_site_page import EXPECTED, row

from dbdeid.report import frontier_page, search_page, site_page

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]
ROWS = [
    row("adult", {**full(), "expectations": EXPECTED}),
    row("clean", full(), upstream=("adult",)),
    row("later", None, upstream=("clean",)),
]
PAGES: dict[str, Callable[[], str]] = {
    "internal": lambda: render(full()),
    "public": lambda: render(full(), "public"),
    "minimal": lambda: render(minimal()),
    "failing": lambda: render(failing()),
    "padded": lambda: render(padded()),
    "moved": lambda: render(moved()),
    "frontier": lambda: frontier_page.render(document(TENNESSEE)),
    "search": lambda: search_page.render(searched(), POINTS, TRAIL),
    "site": lambda: site_page.render(ROWS, "internal"),
    "public site": lambda: site_page.render(ROWS[:1], "public"),
}


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(name: str, tmp_path: Path) -> None:
    script, file = axe(), tmp_path / "page.html"
    file.write_text(PAGES[name](), encoding="utf-8")
    with browser(tmp_path / "profile") as page:
        for width, scheme in ((390, "dark"), (1280, "light")):
            page.load(file, width, scheme=scheme)
            page.evaluate(f"{script};0")
            for opened in (False, True):
                page.evaluate(
                    f"document.querySelectorAll('details').forEach(d => d.open = {int(opened)})"
                )
                found = json.loads(page.evaluate(WRONG))
                assert found["passes"] > 10  # it did look
                assert not found["wrong"], (width, scheme, opened)
                assert page.evaluate("document.documentElement.scrollWidth") == width
