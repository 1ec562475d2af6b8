"""The page of trade-offs: what demands cost is what the command says, and a button makes it so."""

from __future__ import annotations

import re

import pytest
from pages import Browser
from ruamel.yaml import YAML

import dbdeid
from dbdeid.ui import ask_page, decisions
from dbdeid.ui.tradeoff_page import KS


@pytest.fixture
def decided(browser: Browser) -> Browser:
    """A specification of which all is decided."""
    some = [("column", browser.number(name)) for name in ("flurb", "diagnosis")]
    browser.done("role", *some, role="drop")
    return browser


def test_the_grid_is_that_of_the_command(decided: Browser) -> None:
    job = decided.begun("search", page="tradeoff", ks="3,10", limits="0, 10")
    assert job.state == "done", job.error
    found = dbdeid.search(str(decided.room.desk.path), grid={"k": [3, 10], "suppression": [0, 0.1]})
    page = decided.page("tradeoff")
    shown = re.findall(r"<b>([0-9.]+)</b>", page[page.index("heat") :])
    assert shown == [f"{cell['score']:.4f}" for cell in found["cells"] if cell["transformation"]]
    decided.done("promise", page="tradeoff", k="10", limit="10")
    data = YAML(typ="safe").load(decided.room.desk.path)
    assert data["privacy"][0]["k"] == 10
    assert data["method"]["suppression_limit"] == 0.1
    assert "as the spec says" in decided.page("tradeoff")
    assert "of an earlier version of the spec" in decided.page("tradeoff")
    assert decided.send("begin", what="search", ks="3", limits="five").status == 422


def test_what_a_run_would_choose_and_five_records_before_and_after(decided: Browser) -> None:
    assert "Shown after a search" in decided.page("tradeoff")
    job = decided.begun("search", page="tradeoff")
    assert job.state == "done", job.error
    chosen = job.result["transformation"]  # type: ignore[index]
    page = decided.page("tradeoff")
    assert "One level more or less" in page
    assert page.count('<b class="note">') == 5 * len(chosen)
    lines = decided.room.desk.path.with_name("people.csv").read_text().splitlines()[1:]
    for line in lines:  # of persons nothing is shown
        assert line.split(",")[1] not in page


def test_what_to_change_first_is_a_button(decided: Browser) -> None:
    job = decided.begun("check", page="tradeoff")
    assert job.state == "done", job.error
    page = decided.page("tradeoff")
    found = re.search(r'name="column" value="(\d+)">.*?<button>Drop (\w+)</button>', page, re.S)
    assert found is not None
    decided.done("role", page="tradeoff", column=found[1], role="drop")
    data = YAML(typ="safe").load(decided.room.desk.path)
    assert data["columns"][found[2]]["role"] == "drop"


def test_another_method_keeps_what_it_knows() -> None:
    data = {"method": {"name": "full_domain", "suppression_limit": 0.02, "engine": "sql"}}
    decisions.choose_method(data, "local_recoding")
    assert data["method"]["name"] == "local_recoding"
    assert "engine" not in data["method"]
    assert [int(k) for k in KS.split(",")] == sorted(int(k) for k in KS.split(","))


def test_ranges_are_drawn_where_the_numbers_are() -> None:
    rows = [
        {"sex": "F", "n": 10, "n_lower": 0, "n_upper": 20},
        {"sex": "M", "n": 40, "n_lower": 40, "n_upper": 40},
        {"sex": "X", "n": None, "n_lower": None, "n_upper": None},
    ]
    head, drawn = ask_page._drawn(["sex", "n", "n_lower", "n_upper"], rows)
    assert head == ["sex", "n"]
    first, second, third = (row[1] for row in drawn)
    assert (first.left, first.width, first.at) == (0, 100, 50)
    assert (second.left, second.width, second.at) == (200, 1, 200)
    assert third.left is None


def test_a_question_before_a_release_is_refused_in_words(browser: Browser) -> None:
    job = browser.begun("query", page="ask", sql="SELECT COUNT(*) FROM people")
    assert job.state == "failed"
    page = browser.page("ask")
    assert "Hint" in page
    assert "SELECT COUNT(*) FROM people</textarea>" in page
