"""The page of trade-offs: what demands cost is what the command says, and a button makes it so."""

from __future__ import annotations

import copy
import html
import re

import pytest
from pages import Browser
from ruamel.yaml import YAML

import dbdeid
from dbdeid.errors import DataError
from dbdeid.ui.sheet import decisions
from dbdeid.ui.views import ask_page
from dbdeid.ui.views.tradeoff_page import KS


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
    page = decided.page("tradeoff")
    assert "your spec<" in page
    assert re.findall(r'name="(?:ks|limits)" value="([^"]*)"', page) == ["3,10", "0,10"]
    assert "of an earlier version of the spec" in decided.page("tradeoff")
    assert decided.send("begin", what="search", ks="3", limits="five").status == 422


def test_what_a_run_would_choose_and_five_records_before_and_after(decided: Browser) -> None:
    assert "Shown after a search" in decided.page("tradeoff")
    job = decided.begun("around", page="tradeoff")
    assert job.state == "done", job.error
    chosen = job.result["transformation"]  # type: ignore[index]
    page = decided.page("tradeoff")
    assert "One level more or less" in page
    assert page.count('<b class="note">') == 5 * len(chosen)
    lines = decided.room.desk.path.with_name("people.csv").read_text().splitlines()[1:]
    for line in lines:  # of persons nothing is shown
        assert line.split(",")[1] not in page
    gone = next(iter(chosen))
    decided.role(gone, "drop")
    page = decided.page("tradeoff")
    assert page.count('<b class="note">') == 5 * (len(chosen) - 1)  # it is none any more


def test_what_to_change_first_is_a_button(decided: Browser) -> None:
    job = decided.begun("check", page="tradeoff")
    assert job.state == "done", job.error
    page = decided.page("tradeoff")
    assert "age: 100% of the unique records would not be unique without it" in page
    start = re.search(
        r'name="column" value="(\d+)"><input type="hidden" name="level" value="(\d)">'
        r'<input type="hidden" name="which" value="from"><button>Start age at level \2</button>',
        page,
    )
    assert start is not None
    decided.done("level", page="tradeoff", column=start[1], level=start[2], which="from")
    data = YAML(typ="safe").load(decided.room.desk.path)
    assert data["columns"]["age"]["min_level"] == int(start[2])
    assert "Start age at level" not in decided.page("tradeoff")  # it was done
    found = re.search(
        r'name="column" value="(\d+)"><input type="hidden" name="role" value="drop">'
        r"<button>Drop (\w+)</button>",
        page,
    )
    assert found is not None
    decided.done("role", page="tradeoff", column=found[1], role="drop")
    data = YAML(typ="safe").load(decided.room.desk.path)
    assert data["columns"][found[2]]["role"] == "drop"


OF_LEVELS = {
    "age": {"role": "quasi_identifier", "hierarchy": {"shelf": "age"}, "min_level": 1},
    "sex": {"role": "quasi_identifier", "hierarchy": "suppress", "domain": ["F", "M"]},
    "city": {"role": "quasi_identifier", "hierarchy": "suppress", "domain": ["Bern", "Chur", "X"]},
    "zip": {"role": "quasi_identifier", "hierarchy": {"groups": [{"a": ["1"], "b": ["2"]}]}},
    "name": {"role": "identifier"},
}


def test_columns_get_what_another_method_takes_of_them() -> None:
    data = {"method": "full_domain", "columns": copy.deepcopy(OF_LEVELS)}
    decisions.choose_method(data, "policy")
    made = data["columns"]
    assert made["age"] == {"role": "quasi_identifier", "domain": [0, 90]}
    assert made["sex"] == {"role": "quasi_identifier", "domain": ["F", "M"]}
    assert made["city"] == {"role": "quasi_identifier", "order": ["Bern", "Chur", "X"]}
    assert made["zip"] == OF_LEVELS["zip"]
    assert made["name"] == OF_LEVELS["name"]
    decisions.choose_policy(data, {"point": 3})
    assert data["method"] == {"name": "policy", "choose": {"point": 3}}
    decisions.choose_method(data, "full_domain", {"age": OF_LEVELS["age"]})
    assert data["columns"]["age"] == OF_LEVELS["age"]
    assert data["columns"]["city"] == {"role": "quasi_identifier", "hierarchy": "suppress"}
    with pytest.raises(DataError, match="only method policy"):
        decisions.choose_policy(data, {"point": 3})
    decisions.choose_method(data, "microaggregation")
    assert data["columns"]["age"] == {"role": "quasi_identifier"}


@pytest.mark.parametrize(
    "hierarchy", [{"intervals": [5, 10]}, {"prefix": [2]}, "suppress", {"intervals": ["x"]}]
)
def test_a_column_without_a_declared_order_is_no_policy(hierarchy: object) -> None:
    entry = {"role": "quasi_identifier", "hierarchy": hierarchy}
    with pytest.raises(DataError, match="age has no order that is declared"):
        decisions.choose_method({"method": "full_domain", "columns": {"age": entry}}, "policy")


def test_a_method_that_does_not_fit_changes_nothing(decided: Browser) -> None:
    decided.role("diagnosis", "sensitive")
    decided.done("protect", column=decided.number("diagnosis"), l="2")
    before = decided.room.desk.path.read_bytes()
    answer = decided.send("method", method="microaggregation", page="tradeoff")
    assert answer.status == 422
    assert "method microaggregation does not fit this spec" in answer.text
    assert decided.room.desk.path.read_bytes() == before
    assert decided.send("choose", point="3", page="tradeoff").status == 422


@pytest.mark.full
def test_the_frontier_is_that_of_the_command_and_a_policy_of_it_is_released(
    decided: Browser,
) -> None:
    spec = decided.room.desk.path
    decided.done("method", method="policy", page="tradeoff")
    job = decided.begun("frontier", page="tradeoff")
    assert job.state == "done", job.error
    found = dbdeid.frontier(str(spec))
    page = decided.page("tradeoff")
    numbers = [
        int(n) for n in re.findall(r'class="point" data-point="\d+" data-number="(\d+)"', page)
    ]
    assert numbers == [point["point"] for point in found["points"]]
    small = [point["smallest_class"] < 5 for point in found["points"]]
    assert page.count("A class is smaller than the k") == sum(small) > 0
    decided.done("promise", k="1", limit="0", page="release")
    risks = re.findall(r"<dt>Risk</dt><dd>([^<]*)</dd>", page)
    assert risks == [f"{point['risk']:.4g}" for point in found["points"]]
    some = found["points"][len(numbers) // 2]
    allowed = re.findall(r'name="risk" value="([^"]*)"', page)[len(numbers) // 2]
    assert float(allowed) >= some["risk"]
    decided.done("choose", page="tradeoff", by="risk", risk=allowed)
    assert dbdeid.frontier(str(spec))["chosen"] == some["point"]
    decided.done("choose", page="tradeoff", point=str(some["point"]))
    data = YAML(typ="safe").load(spec)
    assert data["method"] == {"name": "policy", "choose": {"point": some["point"]}}
    assert "of an earlier version of the spec" in decided.page("tradeoff")
    done = decided.begun("run")
    assert done.state == "done", done.error


@pytest.mark.full
def test_questions_are_kept_and_what_releases_tell_together_is_shown(decided: Browser) -> None:
    spec = decided.room.desk.path
    asked = "SELECT sex, COUNT(*) AS n FROM people WHERE age < 45 GROUP BY sex"
    decided.done("keep", page="ask", name="by_sex", sql=asked)
    assert spec.with_name("queries").joinpath("by_sex.sql").read_text() == asked + "\n"
    assert YAML(typ="safe").load(spec)["evaluate"] == {"queries": "queries/*.sql"}
    assert decided.send("keep", page="ask", name="by_sex", sql=asked).status == 422
    for path in ("../by_sex", "", "a/b", ".x"):
        assert decided.send("keep", page="ask", name=path, sql=asked).status == 422
    assert decided.send("keep", page="ask", name="x", sql=asked, version="0").status == 409
    assert decided.begun("run").state == "done"
    (query,) = dbdeid.evaluate(str(spec)).queries.queries
    shown = decided.page("tradeoff")
    row = re.search(r'<tr><th scope="row">by_sex</th>(.*?)</tr>', shown)
    assert row is not None
    cells = re.findall(r">([^<]*)</td>", row[1])
    assert cells[0] == f"{100 * query.relative_error:.1f}%"
    assert cells[3] == f"{query.true_total:,.6g} → {query.estimated_total:,.6g}"
    assert decided.begun("workload", page="tradeoff").state == "done"
    assert re.search(r'<tr><th scope="row">by_sex</th>', decided.page("tradeoff"))

    decided.done("promise", k="3", limit="10", page="release")
    assert "What it tells together" not in decided.page("release")
    trial = decided.begun("trial")
    assert trial.state == "done", trial.error
    page = decided.page("release")
    words = trial.result["beside"]["words"]  # type: ignore[index]
    assert words
    assert all(html.escape(one) in page for one in words)
    job = decided.begun("releases")
    assert job.state == "done", job.error
    runs = job.result["releases"]  # type: ignore[index]
    assert sorted(one["state"] for one in runs) == ["published", "trial"]
    other = spec.with_name("other.yml")
    other.write_text(spec.read_text().replace("people_release", "other_release"))
    browser = Browser(other).open()
    found = browser.begun("releases")
    assert found.state == "done", found.error
    named = [one["release"] for one in found.result["releases"]]  # type: ignore[index]
    assert named == ["people_release"]


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
    assert (first.told, second.told, third.told) == ("0 to 20", "exact", "– to –")


def test_a_question_before_a_release_is_refused_in_words(browser: Browser) -> None:
    job = browser.begun("query", page="ask", sql="SELECT COUNT(*) FROM people")
    assert job.state == "failed"
    page = browser.page("ask")
    assert "Hint" in page
    assert "SELECT COUNT(*) FROM people</textarea>" in page
