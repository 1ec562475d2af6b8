"""What stands around a release: earlier runs, and the pages beside it."""

from __future__ import annotations

import re

import pytest
from records import full

from dbdeid.record.border import from_json
from dbdeid.report.around import Around, Links, trend
from dbdeid.report.page import render

NOW = from_json(full())
THEN = from_json(full() | {"created": "2025-12-24T09:00:00Z", "loss": 0.5, "released_rows": 14408})


def texts(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


@pytest.mark.full
def test_earlier_runs_stand_below_this_one() -> None:
    assert trend(NOW, ()) == []
    first, second = trend(NOW, (THEN,))
    assert (first.now, first.loss, first.error) == (True, NOW.loss, 0.6137)
    assert (second.now, second.loss, second.records) == (False, 0.5, 14408)
    page = texts(render(NOW, "internal", Around(earlier=(THEN,))))
    assert "2 runs" in page
    assert "2026-02-03 10:15 this page 28,816 5 0.270 61.4%" in page
    assert "2025-12-24 09:00 14,408 5 0.500 61.4%" in page
    assert "earlier ones" not in texts(render(NOW, "internal"))


def test_the_public_is_told_of_no_earlier_run() -> None:
    alone = render(NOW, "public")
    assert render(NOW, "public", Around(earlier=(THEN,))) == alone


@pytest.mark.full
def test_pages_of_a_site_lead_to_each_other() -> None:
    links = Links("index.html", [("raw<", None)], [("by_year", "by_year.html")])
    page = render(NOW, "internal", Around(links=links))
    assert '<a href="index.html">All releases</a>' in page
    assert 'Made of: raw&lt;. Made of it: <a href="by_year.html">by_year</a>.' in page
    assert "All releases" not in render(NOW, "internal")
