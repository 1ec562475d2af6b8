"""The report page: what it shows, to whom, and that it harms nobody who opens it."""

from __future__ import annotations

import re
import subprocess
import sys
from copy import deepcopy
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, browser
from records import failing, full, minimal, moved, padded, render, rendered, with_texts

from dbdeid.report.page import plain

EVERY = {
    "columns": "What was released",
    "protection": "How it is protected",
    "verification": "Promises and checks",
    "risk": "Risk before and after",
    "loss": "Metrics of loss",
    "classes": "Classes by size",
    "search": "How it was found",
    "queries": "Query errors",
    "recipients": "The recipient's models",
    "verify": "Verify it yourself",
    "glossary": "Terms",
    "specification": "Specification",
}
OPTIONAL = sorted(set(full()) - set(minimal()))
HOSTILE = """<script src=//evil.example>alert('"1"')</script>{{ 7 * 7 }}&amp;"""


class Tags(HTMLParser):
    """The tags of a page in order; `open` is empty when all are closed."""

    VOID = frozenset({"meta", "br"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.all: list[str] = []
        self.open: list[str] = []
        self.headings: dict[str, str] = {}
        self._section = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "wbr":  # where a long name may be broken
            return
        self.all.append(tag)
        if tag == "section":
            self._section = dict(attrs)["id"] or ""
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.all.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h2":
            self.headings[self._section] = data


def sections(page: str) -> dict[str, str]:
    return Tags(page).headings


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "record",
    [full(), minimal(), failing(), padded(), padded(catalog="none"), moved()],
    ids=["full", "minimal", "bad", "padded", "untold", "moved"],
)
@pytest.mark.parametrize("audience", ["internal", "public"])
def test_is_one_self_contained_well_formed_file(record: Any, audience: Any) -> None:
    page = render(record, audience)
    assert page.startswith("<!doctype html>")
    assert Tags(page).open == []
    assert len(page.encode()) < 100_000
    assert not re.search(r"https?:|//[a-z]|<script|<link|<img|@import|url\(", page)
    assert "default-src 'none'" in page


def test_shows_every_section_of_a_full_record() -> None:
    front = {"warnings": "Warnings", "charts": "What decides"}
    assert sections(render(full())) == {**front, **EVERY}


def test_leaves_out_what_a_minimal_record_does_not_have() -> None:
    assert set(sections(render(minimal()))) == {"warnings", "protection", "glossary"}
    assert set(sections(render(minimal(), "public"))) == {"rules", "protection", "glossary"}


def test_public_leaves_out_search_queries_models_specification_and_the_risk_before() -> None:
    shown = sections(render(full(), "public"))
    assert set(EVERY) - set(shown) == {"search", "queries", "recipients", "specification"}
    assert shown["risk"] == "Risk"


def test_queries_tell_what_is_within_bounds_and_every_aggregate() -> None:
    page = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", render(full()).split('id="queries"')[1]))
    assert "True values within the bounds of their estimates: 88.2%" in page
    assert "63.4% mean over groups n: 72.5% &lt;most&gt;: –" in page
    assert "88.2% n: 100% &lt;most&gt;: 76.4%" in page
    assert "refused window functions – – – – –" in page


@pytest.mark.full
@pytest.mark.parametrize("key", OPTIONAL)
@pytest.mark.parametrize("audience", ["internal", "public"])
@pytest.mark.parametrize("how", ["absent", "null", "empty"])
def test_degrades_without_any_one_part(key: str, audience: Any, how: str) -> None:
    record: dict[str, Any] = dict(full())
    value = record.pop(key)
    record.pop("histogram", None)  # drawing takes most of the time
    if how == "null":
        record[key] = None
    elif how == "empty":
        record[key] = type(value)() if isinstance(value, (dict, list)) else None
    assert Tags(render(record, audience)).open == []


def test_says_who_may_read_it() -> None:
    internal, public = render(full()), render(full(), "public")
    assert "contains figures about the original data; do not publish it" in internal
    assert "do not publish" not in public
    assert "<strong>Public:</strong>" in public
    with pytest.raises(ValueError, match="internal or public"):
        render(full(), "press")  # type: ignore[arg-type]


def test_every_model_has_words_and_those_declared_are_explained() -> None:
    from dbdeid.privacy import MODELS

    for kind in MODELS.values():
        assert kind.words.name
        assert kind.words.promise
        assert kind.said({}, "3 columns")  # of a record that does not have all of it, too
        assert {*kind.public} <= {*kind.model_fields} - {"values", "population"}
    page = render(full() | {"privacy": [{"model": "t_closeness", "column": "income", "t": 0.2}]})
    assert "under t-closeness (column = income, t = 0.2)" in re.sub(r"\s+", " ", page)
    assert MODELS["t_closeness"].words.promise in page
    assert MODELS["l_diversity"].words.promise not in page


def test_headline_says_what_was_released_and_whether_it_was_verified() -> None:
    head = re.sub(r"<[^>]+>|\s+", " ", render(full()).split("</header>")[0])
    head = re.sub(r"\s+", " ", head)
    assert "28,816 of 30,162 records of /home/owner/adult.parquet released" in head
    assert "under k-anonymity (k = 5) by full-domain generalization; suppressed: 1,346" in head
    assert "✓ promises verified on 2026-02-03 10:15 UTC dbdeid 0.2.0" in head
    assert "✗ promises not verified" in re.sub(r"<[^>]+>", "", render(failing()))


@pytest.mark.full
def test_settings_that_weaken_protection_are_shown_though_they_are_the_default() -> None:
    record = full()
    record["method_parameters"] = {}
    text = re.sub(r"<[^>]+>", " ", render(record))
    assert "at most 0% of the records" in text
    assert "drop: Suppressed records are not in the release." in text
    assert "own_category: " in text
    assert "One row is taken for one subject." in text
    assert ". Reason: seen by the board" in text
    record["source_subjects"] = 71_000
    assert "71,000 subjects in 30,162 rows" in render(record)


def test_a_record_that_keeps_no_parameters_claims_none() -> None:
    assert "at most" not in render(minimal())


def test_failing_promises_and_checks_come_first() -> None:
    page = render(failing())
    assert page.index(">l-diversity<") < page.index("k-anonymity</th>")
    assert page.index("the table has a comment") < page.index("no enum")
    assert "3 of 4 checks hold" in page
    assert "Red: classes smaller than k" in page
    assert "Red:" not in render(full())


@pytest.mark.full
def test_labels_of_other_columns_than_quasi_identifiers_are_never_shown() -> None:
    record = full()
    record["columns"][-1]["labels"] = ["a secret illness"]
    record["columns"][0]["labels"] = ["Ada Lovelace"]
    for audience in ("internal", "public"):
        page = render(record, audience)  # type: ignore[arg-type]
        assert "secret illness" not in page
        assert "Lovelace" not in page


def test_hostile_texts_change_no_tag() -> None:
    kept = {"role", "model", "created", "method"}

    def poison(path: tuple[str, ...], text: str) -> str:
        return text if kept & set(path) else HOSTILE + text

    record: dict[str, Any] = dict(full())
    tame = with_texts(record, lambda path, text: text if kept & set(path) else "ta * me" + text)
    for audience in ("internal", "public"):
        bad = with_texts(record, poison)
        for found in (bad, tame):
            found["column_loss"] = {HOSTILE: 0.5}
            found["metrics"] = {HOSTILE: 0.5}
            found["method_parameters"][HOSTILE] = HOSTILE
            found["seconds"] = {HOSTILE: 1.0}
        page = render(bad, audience)  # type: ignore[arg-type]
        assert "<script" not in page
        assert "evil.example&gt;" in page
        assert "{{ 7 * 7 }}" in page
        assert Tags(page).all == Tags(render(tame, audience)).all  # type: ignore[arg-type]


def test_a_metric_of_a_column_names_it() -> None:
    page = render(full())
    assert "Mutual information (diagnosis)" in page
    assert "no definition on record" not in page


@pytest.mark.full
def test_tells_how_far_a_search_that_is_not_proven_may_be_off() -> None:
    record = full()
    record["search"] = {**(record["search"] or {}), "proven_optimal": False, "gap": 0.034}
    assert "may exist; the optimum is at most 3.4% below the " in render(record)
    record["search"] |= {"gap": None, "interrupted": True}
    assert "levels may exist; the search was interrupted" in render(record)


@pytest.mark.full
def test_commands_quote_hostile_names() -> None:
    record = full()
    record["columns"][1]["name"] = """o'neil "x"; $(rm)"""
    text = re.sub(r"&#39;", "'", re.sub(r"&#34;", '"', render(record)))
    assert """--qi 'o'"'"'neil "x"; $(rm)'""" in text
    assert """['o''neil "x"; $(rm)', 'age'""" in text
    assert '"o\'neil ""x""; $(rm)", "age"' in text


def test_commands_count_as_the_release_was_made() -> None:
    record = full()
    record["null_policy"] = "exclude"
    text = render(record, "public")
    assert "--null-policy exclude" in text
    assert "null_policy := &#39;exclude&#39;" in text
    assert "IS NULL" in text
    record["null_policy"] = "wildcard"
    text = render(record, "public")
    assert "--null-policy wildcard" in text
    assert "In plain SQL" not in text
    record["null_policy"], record["source_subjects"] = "own_category", 25_000
    assert "count records; the promise counts subjects" in render(record, "public")
    record["columns"][0] |= {"pseudonym": True, "released_type": "VARCHAR"}
    text = render(record, "public")
    assert "--subject name" in text
    assert "subject := &#39;name&#39;" in text
    assert "count(DISTINCT &#34;name&#34;)" in text
    assert "count records; the promise" not in text


def test_is_deterministic_and_leaves_its_record_alone() -> None:
    record = full()
    for audience in ("internal", "public"):
        assert render(record, audience) == rendered(deepcopy(record), audience)  # type: ignore[arg-type]
    assert record == full()


def test_values_in_words() -> None:
    values = [None, True, 3, 0.25, {"l": 3, "kind": "distinct"}, ["a", 2], float("nan")]
    assert [plain(value) for value in values] == [
        "–", "yes", "3", "0.25", "l = 3, kind = distinct", "a, 2", "–",
    ]  # fmt: skip


def test_colours_have_enough_contrast() -> None:
    css = (Path(__file__).parents[2] / "dbdeid/report/style.css").read_text()
    for theme in re.findall(r"--page:.*?\}", css, flags=re.S):
        colour = {name: value * (2 if len(value) == 3 else 1)
                  for name, value in re.findall(r"--([\w-]+): #(\w+);", theme)}  # fmt: skip
        pairs = [
            (a, b) for a in ("text", "soft", "accent", "good", "bad") for b in ("page", "panel")
        ]
        pairs += [(tone, f"{tone}-tint") for tone in ("good", "bad", "warn")]
        for ink, paper in (*pairs, ("text", "warn-tint")):
            light, dark = sorted(map(_luminance, (colour[ink], colour[paper])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, paper)


def _luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_importing_the_page_loads_no_chart_library() -> None:
    heavy = "{'altair', 'vl_convert', 'jinja2', 'pandas', 'numpy'}"
    code = f"import sys, dbdeid.report.page; print(*({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
def test_a_phone_shows_it_without_sideways_scrolling_or_complaints(tmp_path: Path) -> None:
    long = full()
    long["release"] = "a_release_with_a_name_as_long_as_names_may_be_in_a_specification"
    long["columns"][1]["name"] = "x" * 300
    long["columns"][2]["labels"] = ["y" * 300] * 8
    long["warnings"] = ["z" * 500]
    pages = {"internal": render(full()), "public": render(full(), "public"),
             "bad": render(failing()), "long": render(long)}  # fmt: skip
    with browser(tmp_path / "profile") as page:
        for name, text in pages.items():
            file = tmp_path / f"{name}.html"
            file.write_text(text, encoding="utf-8")
            for width in (390, 820, 1280):
                page.load(file, width)
                assert page.evaluate("document.documentElement.scrollWidth") == width, name
            assert page.evaluate("document.fonts.size") == 0
            assert page.paper().startswith(b"%PDF")
        assert page.said == []
        assert {url.split(":")[0] for url in page.requests} == {"file"}
        assert len(set(page.requests)) == len(pages)


def test_names_stay_names_and_break_after_underscores() -> None:
    record = deepcopy(full())
    record["columns"][1]["name"] = "admission_type_id"
    promise = {"model": "transformation", "declared": {"admission_type_id": 1}}
    record["verification"]["promises"] = [
        promise | {"found": {"admission_type_id": 1}, "holds": True}
    ]
    page = render(record)
    assert page.count("admission_type_id = 1") == 2
    assert "admission_<wbr>type_<wbr>id</th>" in page


def test_columns_of_one_reason_are_named_together_and_the_total_comes_last() -> None:
    record = deepcopy(full())
    hours = record["columns"][-2]
    record["columns"].append({**hours, "name": "shift"})
    record["seconds"] = {"total": 3.0, "search": 1.0, "write": 1.5}
    page = render(record)
    assert page.count("<dt>Given reason</dt>") == 1
    assert "<b>hours, shift</b>, insensitive: working hours" in page
    assert "search 1.00, write 1.50, total 3.00" in page


def test_the_public_reads_no_loss_of_nothing() -> None:
    page = render({**full(), "loss": 0.06, "metrics": {}}, "public")
    assert "below 0.03" in page
    assert "Here of the released records alone" in page
    assert "about 0.00" not in page


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
def test_paper_names_the_columns_that_stand_before_and_after(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    shares = [{"label": "30", "source": 0.25, "released": 0.5}]
    record = full() | {"distributions": [{"column": "age", "rows": shares}]}
    file.write_text(render(record), encoding="utf-8")
    shown = "[...document.querySelectorAll('.beside caption b')].map(s => s.innerText.trim())"
    with browser(tmp_path / "profile") as page:
        page.load(file, 800, medium="print")
        names = page.evaluate(shown)
        page.load(file, 800)
        assert names
        assert names == page.evaluate(shown)


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
def test_no_heading_of_a_table_is_broken_inside_a_word(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(render(full()), encoding="utf-8")
    lines = (
        "[...document.querySelectorAll('details')].forEach(d => d.open = true);"
        "[...document.querySelectorAll('thead th')]"
        ".filter(cell => cell.checkVisibility() && cell.offsetHeight > 1).map(cell => {"
        "const r = document.createRange(); r.selectNodeContents(cell);"
        "return [cell.innerText, new Set([...r.getClientRects()].map(b => b.top)).size] })"
    )
    with browser(tmp_path / "profile") as page:
        for width, medium in ((390, ""), (820, ""), (1280, ""), (718, "print")):
            page.load(file, width, medium=medium)
            found = page.evaluate(lines)
            assert {"Invented", "Query"} <= {text for text, _ in found} or width == 390
            for text, count in found:
                assert count <= max(len(text.split()), 1), (width, medium, text)


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
def test_four_sheets_of_paper_hold_it(tmp_path: Path) -> None:
    shares = [{"label": str(n), "source": 0.1, "released": 0.1} for n in range(10)]
    columns = [{"column": f"c{n}", "rows": shares} for n in range(9)]
    pages = {
        "internal": render(full() | {"distributions": columns}),
        "public": render(full(), "public"),
    }
    with browser(tmp_path / "profile") as page:
        for name, text in pages.items():
            file = tmp_path / f"{name}.html"
            file.write_text(text, encoding="utf-8")
            page.load(file, 800)
            sheets = len(re.findall(rb"/Type\s*/Page\b", page.paper()))
            assert 0 < sheets <= 4, name
