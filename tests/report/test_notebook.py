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
from dbdeid.record.border import from_json
from dbdeid.report import notebook
from dbdeid.report.charts import notebook_charts
from dbdeid.workspace.progress_line import progress, telling

VOID = {"br", "img", "meta", "path", "rect", "line"}
HOSTILE = "<script>alert('x')</script>"
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


@pytest.fixture(scope="module")
def released() -> Any:
    """A connection with a release, which nothing changes, and the result of its run."""
    with duckdb.connect() as opened:
        opened.execute(TABLE)
        yield opened, dbdeid.run(SPEC, opened)


def standing_alone(chart: Any) -> bool:
    """Whether a chart can be drawn where there is no stylesheet."""
    assert isinstance(chart, alt.Chart | alt.LayerChart)
    text = json.dumps(chart.to_dict())
    return "var(--" not in text and "currentColor" not in text


def axes(part: Any) -> dict[str, set[str]]:
    """The titles of the axes of a chart, of all its layers."""
    found: dict[str, set[str]] = {"x": set(), "y": set()}
    for layer in (part, *part.get("layer", ())):
        for name in found.keys() & layer.get("encoding", {}).keys():
            found[name].add(layer["encoding"][name].get("title"))
    return found


def data(chart: Any) -> list[dict[str, Any]]:
    """The rows that a chart draws."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def speaks(chart: Any) -> bool:
    """Whether a chart stands alone, asks one thing, and names both of its axes."""
    drawn = chart.to_dict()
    titled = all(len(of) == 1 and all(of) for of in axes(drawn).values())
    return standing_alone(chart) and "?" in drawn["title"] and titled


def test_a_run_shows_itself(released: Any) -> None:
    _, result = released
    shown = Balanced(result._repr_html_())
    assert f"{result.released_rows:,} of 200 records" in shown.text
    assert "verified" in shown.text
    assert "k_anonymity" in shown.text
    assert "sex<b> 0" in shown.text or "sex<b> 1" in shown.text
    assert "secret" not in shown.text
    charts = result.charts()
    assert set(charts) == {"classes", "records", "loss"}
    assert all(speaks(chart) for chart in charts.values())
    assert len({chart.to_dict()["title"] for chart in charts.values()}) == 3
    assert "charts" not in result.to_dict()
    assert json.dumps(result.to_dict(), default=str).count("histogram") == 0


def test_a_search_shows_itself(con: Any) -> None:
    found = dbdeid.search(SPEC, con)
    shown = Balanced(found._repr_html_())
    assert "(chosen)" in shown.text
    assert shown.text.count(" at ") >= len(found["neighbours"]) > 0
    assert set(found.charts()) == {"neighbours"}
    chart = found.charts()["neighbours"]
    assert speaks(chart)
    drawn = [row["score"] for row in data(chart) if "verdict" in row]
    assert drawn == [near["score"] for near in found["neighbours"]]
    assert json.loads(json.dumps(found, default=str))["release"] == "people_public"


def test_a_grid_of_demands_shows_its_cost(con: Any) -> None:
    from dbdeid.commands.search import Grid

    found = dbdeid.search(SPEC, con, grid=Grid((3, 5), (0.0, 0.1)))
    assert Balanced(found._repr_html_()).text.count("age ") == 4
    assert speaks(found.charts()["cost"])
    assert "no chart" not in found._repr_html_()
    alone = dbdeid.search(SPEC, con, grid=Grid((3,), (0.1,)))
    assert alone.charts() == {}
    assert "no chart" in Balanced(alone._repr_html_()).text


@pytest.mark.full
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
    assert all(speaks(chart) for chart in found.charts().values())


def test_a_check_shows_itself(con: Any) -> None:
    found = dbdeid.check(SPEC, con)
    shown = Balanced(found._repr_html_())
    assert "sex<b>" in shown.text
    assert "unique by it alone" in shown.text
    assert all(note in shown.text for note in (*found["warnings"], *found["advice"]))
    assert "secret" not in shown.text
    assert json.loads(json.dumps(found, default=str)) == found


@pytest.mark.full
def test_a_verification_shows_itself(con: Any) -> None:
    dbdeid.run(SPEC | {"evaluate": {"metrics": []}}, con)
    found = dbdeid.verify(SPEC, con)
    shown = Balanced(found._repr_html_())
    assert "every promise holds" in shown.text
    assert "k_anonymity" in shown.text
    con.execute("UPDATE people_public SET \"sex<b>\" = 'secret' WHERE age = '[20, 25)'")
    broken = dbdeid.verify(SPEC, con)
    shown = Balanced(broken._repr_html_())
    assert not broken.verified
    assert "not verified" in shown.text
    failing = [check.check for check in broken.hygiene if not check.holds]
    assert all(name in shown.text for name in failing)
    assert "secret" not in shown.text


def test_files_are_named_once_and_listed_values_never() -> None:
    promises = [
        {"model": name, "declared": {"l": 2, "values": ["flu"]}, "found": 2, "holds": holds}
        for name, holds in (("l (a.csv)", True), ("l", True), ("l (<script>)", False))
    ]
    hygiene = [{"check": "order (a.csv)", "holds": True, "detail": ""}]
    shown = Balanced(
        notebook.verification_html({"verified": False, "promises": promises, "hygiene": hygiene})
    )
    assert shown.text.count("a.csv") == 1
    assert shown.text.index("broken") < shown.text.index("holds")
    assert "flu" not in shown.text


def test_an_evaluation_shows_itself(released: Any) -> None:
    found = dbdeid.evaluate(SPEC, released[0])
    shown = Balanced(found._repr_html_())
    assert "Information loss" in shown.text
    assert shown.text.count("lower") >= 1
    figures = {"relative_error": 0.25, "within_bounds": None, "lost": 1, "invented": 0}
    asked = {"name": HOSTILE, "groups": 3, "refused": None, **figures}
    refused = {"name": "b", "groups": 0, "refused": HOSTILE, **figures}
    summary = {"coefficients": 2, "changed_significance": 0.5}
    summary |= {"changed_direction": None, "outside": 0.0}
    model = {"kind": "cox", "response": HOSTILE, "where": HOSTILE, "reason": HOSTILE}
    more = {
        "metrics": {f"association.a.{i}": i / 10 for i in range(8)} | {f"loss.{HOSTILE}": 0.5},
        "queries": {"queries": [asked, refused]},
        "models": [{**model, "summary": summary}],
        "recoding": "local",
    }
    html = notebook.evaluation_html({**found, **more})
    assert Balanced(html).text.count(HOSTILE) == 6
    assert "associations of 3 more pairs" in html
    assert "25%" in html


def test_a_check_of_a_release_made_elsewhere_shows_itself() -> None:
    column = {"name": HOSTILE, "role": "insensitive", "type": "VARCHAR", "values": 3}
    told = {
        "release": HOSTILE,
        "method": "external",
        "source_rows": None,
        "released_rows": 1200,
        "risk": {"k": 4, "unique_records": 0, "records_at_risk": 0},
        "columns": [column],
        "warnings": [HOSTILE],
    }
    shown = Balanced(notebook.check_html(told))
    assert "made elsewhere" in shown.text
    assert "1,200 records" in shown.text
    assert shown.text.count(HOSTILE) == 3


def test_names_in_charts_stay_as_they_are() -> None:
    record = minimal() | {"column_loss": {"transparent": 0.5, "var(--bad)": 0.1}}
    drawn = data(notebook_charts.run_charts(from_json(record))["loss"])
    assert {row["column"] for row in drawn} == set(record["column_loss"])


def test_an_answer_shows_itself(released: Any) -> None:
    sql = 'SELECT "sex<b>", COUNT(*) AS n FROM people WHERE age < 33 GROUP BY "sex<b>"'
    answer = dbdeid.query(SPEC, sql, released[0])
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
    record = from_json(make())
    Balanced(notebook.run_html(record))
    assert all(standing_alone(chart) for chart in notebook_charts.run_charts(record).values())


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
