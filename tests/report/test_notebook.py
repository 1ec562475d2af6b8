"""What notebooks show of results: every value escaped, figures as on the page, charts that stand
alone."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import altair as alt
import duckdb
import pytest
from records import full, minimal

import dbdeid
from dbdeid.report import notebook
from dbdeid.words.progress import progress, telling

VOID = {"br", "img", "meta", "path", "rect", "line"}
TABLE = """
CREATE TABLE people AS
SELECT 20 + i % 40 AS age, CASE WHEN i % 3 = 0 THEN 'F' ELSE 'M' END AS "sex<b>",
  'secret' || i AS name
FROM range(200) AS numbers(i)
"""
SPEC: dict[str, Any] = {
    "release": "people_public",
    "source": "people",
    "columns": {
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [5, 10]}},
        "sex<b>": {"role": "quasi_identifier", "hierarchy": "suppress"},
        "name": "identifier",
    },
    "privacy": [{"model": "k_anonymity", "k": 3}],
    "method": "full_domain",
}


class Balanced(HTMLParser):
    """HTML whose tags are closed in the order in which they were opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "style", "link", "b")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


@pytest.fixture
def con() -> Any:
    with duckdb.connect() as opened:
        opened.execute(TABLE)
        yield opened


def standing_alone(chart: Any) -> bool:
    """Whether a chart can be drawn where there is no stylesheet."""
    assert isinstance(chart, alt.Chart | alt.LayerChart)
    text = json.dumps(chart.to_dict())
    return "var(--" not in text and "currentColor" not in text


def test_a_run_shows_itself(con: Any) -> None:
    result = dbdeid.run(SPEC, con)
    shown = Balanced(result._repr_html_())
    assert f"{result.released_rows:,} of 200 records" in shown.text
    assert "verified" in shown.text
    assert "k_anonymity" in shown.text
    assert "sex<b> 0" in shown.text or "sex<b> 1" in shown.text
    assert "secret" not in shown.text
    charts = result.charts()
    assert set(charts) == {"classes", "records", "loss"}
    assert all(standing_alone(chart) for chart in charts.values())
    assert "charts" not in result.to_dict()
    assert json.dumps(result.to_dict(), default=str).count("histogram") == 0


def test_a_search_shows_itself(con: Any) -> None:
    found = dbdeid.search(SPEC, con)
    shown = Balanced(found._repr_html_())
    assert "(chosen)" in shown.text
    assert shown.text.count(" at ") >= len(found["neighbours"]) > 0
    assert found.charts() == {}
    assert json.loads(json.dumps(found, default=str))["release"] == "people_public"


def test_a_grid_of_demands_shows_its_cost(con: Any) -> None:
    from dbdeid.release.search import Grid

    found = dbdeid.search(SPEC, con, grid=Grid((3, 5), (0.0, 0.1)))
    assert Balanced(found._repr_html_()).text.count("age ") == 4
    assert standing_alone(found.charts()["cost"])


def test_a_frontier_shows_itself(con: Any) -> None:
    con.execute("ALTER TABLE people DROP name")
    spec = {
        **SPEC,
        "columns": {
            "age": {"role": "quasi_identifier", "domain": [0, 99]},
            "sex<b>": {"role": "quasi_identifier", "order": ["F", "M"]},
        },
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": {"name": "policy", "budget": 100},
    }
    found = dbdeid.frontier(spec, con)
    shown = Balanced(found._repr_html_())
    assert f"{len(found['points'])} points" in shown.text
    assert set(found.charts()) == {"log", "linear"}
    assert all(standing_alone(chart) for chart in found.charts().values())


def test_an_answer_shows_itself(con: Any) -> None:
    dbdeid.run(SPEC, con)
    sql = 'SELECT "sex<b>", COUNT(*) AS n FROM people WHERE age < 33 GROUP BY "sex<b>"'
    answer = dbdeid.query(SPEC, sql, con)
    shown = Balanced(answer._repr_html_())
    assert all(name in shown.text for name in answer.columns)


def test_cells_of_an_answer_are_escaped_and_many_are_cut() -> None:
    rows = [("<script>alert(1)</script>", None, 1234.5, 3.0, True)] * 105
    html = notebook.answer_html(("a", "b", "c", "d", "e"), rows, ("<i>note</i>",))
    shown = Balanced(html)
    assert "&lt;script&gt;" in html
    assert "<i>" not in html
    assert "NULL" in shown.text
    assert "1,234.5000" in shown.text
    assert "5 more rows" in shown.text
    assert "no groups" in Balanced(notebook.answer_html(("a",), [], ())).text


@pytest.mark.parametrize("make", [minimal, full])
def test_records_of_any_run_are_shown(make: Any) -> None:
    record = {"loss": None, "transformation": {}, **make()}
    Balanced(notebook.run_html(record))
    assert all(standing_alone(chart) for chart in notebook.run_charts(record).values())


def test_progress_tells_phases_at_once_and_searches_now_and_then() -> None:
    lines: list[str] = []
    notify = telling(lines.append)
    notify("prepare", None)
    notify("search", None)
    assert lines == ["prepare", "search"]


def test_without_notebook_or_terminal_nothing_is_shown(capsys: Any) -> None:
    with progress() as notify:
        notify("prepare", None)
    assert capsys.readouterr() == ("", "")
