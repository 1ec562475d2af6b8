"""The page of a frontier: every point is drawn and says what it is; nothing is from outside."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, Page, browser
from frontiers import (
    ONE_POINT,
    SAMPLE,
    SMALL,
    TENNESSEE,
    WITHOUT_CHOICE,
    WITHOUT_SAFE_HARBOR,
    document,
)
from test_page import HOSTILE, Tags

from dbdeid.report.charts.frontier_charts import Scale, frontier_chart, least
from dbdeid.report.content.policies import pieces, single_values
from dbdeid.report.frontier_page import CHANGES, NEIGHBOURS, render

ALONE = document(points=1, **{key: value for key, value in ONE_POINT.items() if key != "points"})
DOCUMENTS = {
    "full": document(),
    "no safe harbor": document(**WITHOUT_SAFE_HARBOR),
    "nothing chosen": document(**WITHOUT_CHOICE),
    "sample": document(**SAMPLE),
    "one point": ALONE,
}


class Parts(HTMLParser):
    """The scripts of a page with their types, and the policy that it asks the browser to keep."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.policy = ""
        self._script = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._script = tag == "script"
        if self._script:
            self.scripts.append((dict(attrs), ""))
        if ("http-equiv", "Content-Security-Policy") in attrs:
            self.policy = dict(attrs)["content"] or ""

    def handle_endtag(self, tag: str) -> None:
        self._script = False

    def handle_data(self, data: str) -> None:
        if self._script:
            attrs, text = self.scripts[-1]
            self.scripts[-1] = attrs, text + data


@cache
def usual() -> str:
    """The page that most tests look at."""
    return render(document())


def without_scripts(page: str) -> str:
    return re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def told(page: str) -> dict[str, Any]:
    (data,) = [text for attrs, text in Parts(page).scripts if attrs.get("id") == "told"]
    found: dict[str, Any] = json.loads(data)
    return found


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_is_one_self_contained_well_formed_file(name: str) -> None:
    page = usual() if name == "full" else render(DOCUMENTS[name])
    outside = without_scripts(page)
    assert page.startswith("<!doctype html>")
    assert Tags(re.sub(r"<input[^>]*>", "", outside)).open == []
    assert not re.search(r"https?:|//[a-z]|<link|<img|@import|url\(|srcset", outside)
    assert "src" not in {name for attrs, _ in Parts(page).scripts for name in attrs}
    assert "do not publish" in page
    assert page == render(DOCUMENTS[name])


def test_only_the_scripts_of_the_page_may_run() -> None:
    parts = Parts(usual())
    run = [text for attrs, text in parts.scripts if "type" not in attrs]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in run]
    assert parts.policy == (
        "default-src 'none'; style-src 'unsafe-inline'; script-src "
        + " ".join(f"'sha256-{found}'" for found in hashes)
    )
    assert len(run) == 2


@pytest.mark.full
def test_says_what_is_chosen_what_beats_safe_harbor_and_how_it_was_found() -> None:
    page = render(document(not_representable=["Areas <000> are pooled"]))
    assert "point 14 chosen" in page
    assert "5 points of the frontier dominate it" in page
    assert "Areas &lt;000&gt; are pooled" in page
    assert "15,011 policies evaluated, 15,100 of a budget of 15,100 spent in 3.75 seconds" in page
    assert "6,400,000 people (people.parquet)" in page
    assert "2 more policies have the same risk and loss" in page
    assert "least loss at risk ≤ 0.1; least loss that dominates Safe Harbor" in page


@pytest.mark.full
def test_what_is_not_there_is_not_spoken_of() -> None:
    page = without_scripts(render(document(**WITHOUT_SAFE_HARBOR, **WITHOUT_CHOICE, **SAMPLE)))
    assert "Safe Harbor" not in page
    assert "One interval less" not in page
    assert "nothing chosen yet" in page
    assert "the records themselves" in page
    unmet = without_scripts(render(document(chosen=None, neighbours=[])))
    assert "max risk = 0.1; no point of the frontier satisfies it" in unmet
    bare = document()
    del bare["page"], bare["seconds"]  # which are not known when the page is drawn
    assert "of a budget of 15,100 spent</dd>" in render(bare)


@pytest.mark.full
@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "No point of the frontier dominates it"),
        (1, "One point of the frontier dominates it"),
        (1203, "1,203 points of the frontier dominate it"),
    ],
)
def test_counts_who_dominates_safe_harbor(number: int, words: str) -> None:
    page = render(document(dominating_safe_harbor=number, distance={"mean": None, "least": None}))
    assert words in page
    assert "from it on average" not in page


@pytest.mark.full
def test_merges_come_with_those_first_that_cost_least() -> None:
    merges = [
        {"column": f"c{i}", "merged": "*", "from": ["a", "b"], "risk": 0.03, "loss": 0.9 - i / 100}
        for i in range(NEIGHBOURS + 3)
    ]
    page = without_scripts(render(document(neighbours=merges)))
    assert re.findall(r'<th scope="row">(c\d+)</th>', page) == [
        f"c{i}" for i in reversed(range(NEIGHBOURS + 3))
    ]
    assert "<summary>The other 3</summary>" in page


def test_names_and_labels_are_escaped_everywhere() -> None:
    domains = {**SMALL, "zip": [f"{HOSTILE}{i}" for i in range(5)]}
    page = render(
        document(domains, release=HOSTILE, warnings=[HOSTILE], not_representable=[HOSTILE])
    )
    assert Tags(re.sub(r"<input[^>]*>", "", without_scripts(page))).open == []
    assert page.count("<script") == page.count("</script>") == 3
    assert "<script" not in without_scripts(page)
    assert any(HOSTILE in text for text in told(page)["texts"])


@pytest.mark.full
@pytest.mark.parametrize("chains", [1, 3])
def test_the_policies_of_all_points_can_be_told_from_what_the_script_reads(chains: int) -> None:
    found = document(TENNESSEE, chains)
    singles, data = single_values(found), told(render(found))
    now: list[list[str]] = [[] for _ in data["columns"]]
    for point, step in zip(found["points"], data["steps"], strict=True):
        for column, (name, changed) in enumerate(zip(data["columns"], step, strict=True)):
            if changed:
                now[column] = _rebuilt(now[column], changed, data["texts"])
                assert changed[1] == len(point["policy"][name])
            assert now[column] == pieces(point["policy"][name], singles[name])
    assert len(data["changes"]) == len(found["points"]) - 1
    assert max(map(len, data["changes"])) <= CHANGES + 1


def _rebuilt(before: list[str], changed: list[int], texts: list[str]) -> list[str]:
    made: list[str] = []
    done, at = 0, 2
    while at < len(changed):
        start, gone, come = changed[at : at + 3]
        made += before[done:start] + [texts[i] for i in changed[at + 3 : at + 3 + come]]
        done, at = start + gone, at + 3 + come
    return made + before[done:]


@pytest.mark.full
def test_a_frontier_of_thousands_of_long_policies_stays_a_small_file() -> None:
    found = document(TENNESSEE, 3)
    assert len(found["points"]) > 2000
    assert len(json.dumps(found)) > 9_000_000
    assert len(render(found).encode()) < 6_000_000


def titles(svg: str) -> list[str]:
    return [unescape(text) for text in re.findall(r"<title>([^<]*)</title></path>", svg)]


@pytest.mark.full
@pytest.mark.parametrize("scale", ["log", "linear"])
def test_the_chart_of_a_report_says_of_each_point_what_it_is(scale: Scale) -> None:
    found = titles(frontier_chart(document(), scale))
    assert len(found) == 26 + 2
    assert found[13].startswith(
        "Point 14: risk 0.03262, loss 0.309, KL 1.281 nats, 40 classes\nage "
    )
    assert found[-2:] == [
        "Safe Harbor: risk 0.0837, loss 0.39",
        "chosen: risk 0.03262, loss 0.309",
    ]
    assert not re.search(r"https?:|url\(|<script", frontier_chart(document(), scale))


def test_a_record_of_a_release_is_drawn_without_the_policies_it_does_not_keep() -> None:
    found = document()
    short = [{key: p[key] for key in ("point", "risk", "loss")} for p in found["points"]]
    drawn = titles(frontier_chart({**found, "points": short}))
    assert len(drawn) == 26 + 2
    assert drawn[13] == "Point 14: risk 0.03262, loss 0.309"


@pytest.mark.full
def test_points_that_would_lie_upon_each_other_are_drawn_once_but_the_chosen_one_always() -> None:
    found = document(TENNESSEE, 3, chosen=1201)
    drawn = titles(frontier_chart(found))
    assert len(drawn) < 400
    assert any(title.startswith("Point 1201:") for title in drawn)
    assert {"Point 1:", f"Point {len(found['points'])}:"} <= {t[: t.find(":") + 1] for t in drawn}


@pytest.mark.full
def test_the_scale_starts_below_all_risks_and_at_nothing_only_where_it_can() -> None:
    assert least(document(), "linear") == 0
    assert 0.0004 <= least(document(), "log") < 0.0008
    assert least(ALONE, "log") < ALONE["points"][0]["risk"]
    none = document(points=2)
    none["points"][0]["risk"] = 0.0
    assert 0 < least(none, "log") < 0.1
    assert len(titles(frontier_chart(none))) == 4


# -- in a browser -------------------------------------------------------------------------------

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
DOTS = (
    "[...document.querySelectorAll('#canvas path[fill=\"var(--accent)\"]')]"
    ".filter(p => p.getBoundingClientRect().width > 1).length"
)


def opened(
    page: Page, file: Path, found: dict[str, Any], width: int = 1280, scheme: str = "light"
) -> None:
    file.write_text(render(found), encoding="utf-8")
    page.load(file, width, scheme=scheme)
    until(page, "document.getElementById('plot').dataset.drawn", "log")


def until(page: Page, expression: str, value: Any) -> None:
    """Let the page go on until an expression has this value; each question lets it take a turn."""
    for _ in range(20_000):
        if page.evaluate(expression) == value:
            return
    raise AssertionError(f"{expression} is {page.evaluate(expression)!r}, not {value!r}")


def text(page: Page, place: str) -> str:
    found: str = page.evaluate(f"document.querySelector('{place}').innerText")
    return found


def where(page: Page, number: int) -> tuple[float, float]:
    """Where the dot of a point is in the window."""
    page.evaluate("document.getElementById('plot').scrollIntoView()")
    x, y = page.evaluate(
        "(b => [b.x + b.width / 2, b.y + b.height / 2])("
        "document.querySelectorAll('#canvas path[fill=\"var(--accent)\"]')"
        f"[{number - 1}].getBoundingClientRect())"
    )
    return x, y


@needs_browser
def test_a_browser_draws_every_point_and_asks_nobody(tmp_path: Path) -> None:
    with browser(tmp_path / "profile") as page:
        for i, found in enumerate(DOCUMENTS.values()):
            file = tmp_path / f"{i}.html"
            page.requests.clear()
            opened(page, file, found, (390, 820, 1280)[i % 3], ("light", "dark")[i % 2])
            assert page.evaluate(DOTS) == len(found["points"])
            assert page.evaluate("document.documentElement.scrollWidth") == (390, 820, 1280)[i % 3]
            assert page.evaluate("document.getElementById('still')") is None
            assert page.said == []
            assert set(page.requests) == {file.resolve().as_uri()}


@needs_browser
def test_resting_tells_a_point_and_selecting_its_whole_policy(tmp_path: Path) -> None:
    found = document()
    with browser(tmp_path / "profile") as page:
        opened(page, tmp_path / "page.html", found)
        assert text(page, "#number") == "Point 14"  # the chosen one
        x, y = where(page, 20)
        page.mouse("mouseMoved", x, y)
        until(page, "document.getElementById('tip').hidden", False)
        assert text(page, "#tip").splitlines() == [
            "Point 20",
            "risk 0.1806, loss 0.1019, KL 0.4226 nats, 58 classes",
            "age: 0, 1 to 2, …, 19 (14 intervals)",
            "sex: Female, Male",
            "zip: 37010, 37011, …, 37130 (6 intervals)",
        ]
        page.mouse("mousePressed", x, y)
        page.mouse("mouseReleased", x, y)
        until(page, "document.getElementById('number').innerText", "Point 20")
        assert text(page, "#choose") == "choose: {point: 20}"
        shown = page.evaluate(
            "[...document.querySelectorAll('#policy dd')]"
            ".map(d => [...d.querySelectorAll('span')].map(s => s.innerText))"
        )
        singles, policy = single_values(found), found["points"][19]["policy"]
        assert shown == [pieces(labels, singles[name]) for name, labels in policy.items()]
        assert text(page, "#next h4") == "What changes to point 21"
        assert " split into " in text(page, "#next li")
        page.mouse("mouseMoved", 1, 1)
        until(page, "document.getElementById('tip').hidden", True)
        assert page.said == []


@needs_browser
def test_of_many_points_the_one_under_the_mouse_is_told(tmp_path: Path) -> None:
    with browser(tmp_path / "profile") as page:
        opened(page, tmp_path / "page.html", document(TENNESSEE))
        assert page.evaluate(DOTS) == 755
        for number in (50, 400, 700):
            page.mouse("mouseMoved", *where(page, number))
            until(page, "document.getElementById('tip').hidden", False)
            (told,) = re.findall(r"^Point (\d+)\n", text(page, "#tip"))
            assert abs(int(told) - number) <= 1  # points are a pixel apart
            page.mouse("mouseMoved", 1, 1)
            until(page, "document.getElementById('tip').hidden", True)
        assert page.said == []


@needs_browser
def test_figures_of_intervals_that_merge_stand_under_their_headings(tmp_path: Path) -> None:
    places = (
        "[...document.querySelectorAll('#neighbours tbody tr')].map(row => [...row.cells].map("
        "(cell, at) => Math.abs(cell.getBoundingClientRect().right - "
        "row.closest('table').tHead.rows[0].cells[at].getBoundingClientRect().right)))"
    )
    with browser(tmp_path / "profile") as page:
        opened(page, tmp_path / "page.html", document())
        rows = page.evaluate(places)
        assert rows
        assert all(distance < 1 for row in rows for distance in row)


@needs_browser
def test_the_scale_can_be_switched_and_points_stepped_through(tmp_path: Path) -> None:
    found = document()
    with browser(tmp_path / "profile") as page:
        opened(page, tmp_path / "page.html", found)
        logarithmic = where(page, 10)
        page.evaluate("document.querySelector('input[value=linear]').click()")
        until(page, "document.getElementById('plot').dataset.drawn", "linear")
        assert page.evaluate(DOTS) == len(found["points"])
        assert where(page, 10)[0] < logarithmic[0] - 100
        assert where(page, 10)[1] == pytest.approx(logarithmic[1], abs=1)
        page.evaluate("document.getElementById('after').click()")
        assert text(page, "#number") == "Point 15"
        page.evaluate("document.querySelector('[data-point=\"9\"]').click()")
        assert text(page, "#number") == "Point 9"
        slide = (
            "(w => {{ w.value = {}; w.dispatchEvent(new Event('input')); }})"
            "(document.getElementById('which'))"
        )
        for number, button, other in ((1, "before", "after"), (26, "after", "before")):
            page.evaluate(slide.format(number))
            assert text(page, "#number") == f"Point {number}"
            assert page.evaluate(f"document.getElementById('{button}').disabled")
            assert not page.evaluate(f"document.getElementById('{other}').disabled")
        assert page.evaluate("document.getElementById('next').hidden")
        assert page.said == []


@needs_browser
def test_labels_bring_in_no_script_and_no_markup(tmp_path: Path) -> None:
    evil = "<img src=x onerror=\"document.title='evil'\"><script>document.title='evil'</script>"
    domains = {**SMALL, f"zip{evil}": [f"{evil}{i}" for i in range(5)]}
    with browser(tmp_path / "profile") as page:
        opened(page, tmp_path / "page.html", document(domains, release=f"v{evil}"))
        x, y = where(page, 20)
        page.mouse("mouseMoved", x, y)
        until(page, "document.getElementById('tip').hidden", False)
        assert evil in text(page, "#policy")
        assert evil[:20] in text(page, "#tip")
        assert page.evaluate("document.images.length") == 0
        assert page.evaluate("document.title") == f"v{evil} – frontier (internal)"
        assert page.said == []


@needs_browser
def test_without_script_the_frontier_stands_still_with_its_tables(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(render(document()), encoding="utf-8")
    with browser(tmp_path / "profile") as page:
        page.scripts(False)
        page.load(file, 820)
        drawn = "[...document.querySelectorAll('#still path:has(> title)')]"
        visible = ".filter(p => p.getBoundingClientRect().width > 1).length"
        assert page.evaluate(drawn + visible) == 26 + 2
        assert page.evaluate("document.getElementById('point').offsetHeight") == 0
        assert page.evaluate("document.getElementById('which').offsetHeight") == 0
        assert "stands still" in text(page, "noscript")
        assert page.evaluate("document.querySelectorAll('#landmarks tbody tr').length") == 6
        assert page.evaluate("document.querySelectorAll('#all tbody tr').length") == 26
        assert page.paper().startswith(b"%PDF")
        assert page.said == []
