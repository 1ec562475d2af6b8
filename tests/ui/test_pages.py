"""From a CSV to a verified release by clicks, and what the pages show and keep to themselves."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from pages import HOST, Browser
from ruamel.yaml import YAML

import dbdeid

QUESTIONS = ("diagnosis", "flurb")
ASKED = "SELECT sex, COUNT(*) AS n FROM people WHERE age < 45 GROUP BY sex"


def columns(path: Path) -> dict[str, dict[str, object]]:
    return YAML(typ="safe").load(path)["columns"]


def open_rows(page: str) -> list[str]:
    return re.findall(r'<tr class="[a-z_]+ open"[^>]*id="row-(\d+)"', page)


def test_a_csv_becomes_a_verified_release_and_the_spec_gives_the_same_bytes(
    people: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    browser = Browser(people).open()
    assert "Reading the table" in browser.page()
    browser.looked()
    spec = people.with_name("people.yml")
    assert open_rows(browser.page()) == [browser.number("diagnosis"), browser.number("flurb")]
    assert 'id="run" disabled' in browser.page("release")
    browser.role("diagnosis", "sensitive")
    browser.done("protect", column=browser.number("diagnosis"), l="2")
    assert open_rows(browser.role("flurb", "drop")) == []
    assert columns(spec)["flurb"] == {"role": "drop"}
    assert 'id="run" disabled' not in browser.page("release")
    browser.done("promise", k="3", limit="10", page="release")
    done = browser.begun("run")
    assert done.state == "done", done.error
    page = browser.page("release")
    assert "promises verified" in page
    assert "k = 3 on 3 columns: holds" in page

    again = tmp_path_factory.mktemp("again")
    for name in ("people.csv", "people.yml"):
        shutil.copy(people.with_name(name), again)
    dbdeid.run(str(again / "people.yml"))
    for name in ("people_release.parquet", "people_release.duckdb"):
        assert people.with_name(name).read_bytes() == (again / name).read_bytes(), name

    assert browser.begun("query", page="ask", sql=ASKED).state == "done"
    page = browser.page("ask")
    assert page.count('class="range"') == 2
    assert "<td>F</td>" in page


@pytest.mark.full
def test_what_may_leave_and_the_reports(people: Path) -> None:
    browser = Browser(people).open().looked()
    for name in QUESTIONS:
        browser.role(name, "drop")
    assert browser.begun("report", audience="internal").state == "failed"  # there is no run yet
    assert browser.begun("run").state == "done"
    assert dbdeid.verify(str(people.with_name("people.yml"))).verified
    given = browser.begun("hand_out", folder="to_send")
    assert given.state == "done", given.error
    sent = {path.name for path in people.with_name("to_send").iterdir()}
    assert {one["name"] for one in given.result["files"]} == sent  # type: ignore[index]
    assert "people_release_public_report.html" in sent
    assert browser.begun("report", audience="internal").state == "done"
    shown = browser.get("/0/report/internal")
    assert shown.status == 200
    assert "sandbox" in shown.headers["content-security-policy"]
    assert browser.get("/0/report/public").status == 404
    assert browser.begun("verify").state == "done"
    assert "Promises verified." in browser.page("release")
    assert browser.begun("releases").state == "done"
    assert "people_release</th>" in browser.page("release")


@pytest.mark.full
def test_undecided_columns_come_first_and_say_what_each_role_costs(browser: Browser) -> None:
    page = browser.page()
    assert page.index('id="row-5"') < page.index('id="row-6"') < page.index('id="row-0"')
    assert "2 to decide" in page
    assert "of the records are unique" in page


def test_no_cell_of_a_direct_identifier_is_shown(browser: Browser) -> None:
    rows = browser.room.desk.path.with_name("people.csv").read_text().splitlines()[1:]
    pages = browser.page() + browser.page("release")
    for row in rows:
        number, name, *_ = row.split(",")
        assert number not in pages
        assert name not in pages
    assert "Basel" in pages  # of what others may know, values that many share are shown


def test_a_column_that_becomes_an_identifier_shows_no_cell_any_more(browser: Browser) -> None:
    assert "<span>Basel</span>" in browser.page()
    assert "<span>Basel</span>" not in browser.role("city", "identifier")


@pytest.mark.full
def test_a_role_brings_what_a_draft_would_write_and_takes_it_away_again(browser: Browser) -> None:
    spec = browser.room.desk.path
    browser.role("flurb", "quasi_identifier")
    assert columns(spec)["flurb"]["hierarchy"] == "suppress"
    assert columns(spec)["flurb"]["domain"] == ["a", "b", "c"]
    browser.role("age", "sensitive")
    assert columns(spec)["age"] == {"role": "sensitive"}
    browser.role("age", "quasi_identifier")
    assert columns(spec)["age"] == {
        "role": "quasi_identifier",
        "hierarchy": {"shelf": "age"},
        "min_level": 1,
    }


def test_an_empty_reason_is_not_asked_for_by_another_role(browser: Browser) -> None:
    spec = browser.room.desk.path
    text = spec.read_text().replace(
        "flurb: {role: undecided}", 'flurb: {role: sensitive, reason: ""}'
    )
    spec.write_text(text)
    assert "give a reason" in browser.page()
    assert "give a reason" not in browser.role("flurb", "drop")
    assert columns(spec)["flurb"] == {"role": "drop"}


def test_many_columns_at_once(browser: Browser) -> None:
    some = [("column", browser.number(name)) for name in ("flurb", "diagnosis", "city")]
    browser.done("role", *some, role="drop")
    found = columns(browser.room.desk.path)
    assert {found[name]["role"] for name in ("flurb", "diagnosis", "city")} == {"drop"}
    browser.done("adopt", *some)
    found = columns(browser.room.desk.path)
    assert found["city"]["role"] == "quasi_identifier"  # of the others nothing is proposed
    assert found["flurb"]["role"] == "drop"


def test_a_sensitive_column_is_open_until_it_is_protected_or_accepted(browser: Browser) -> None:
    page = browser.role("diagnosis", "sensitive")
    assert "protect it, or accept" in page
    said = "the ward treats one disease only"
    page = browser.done("accept", column=browser.number("diagnosis"), reason=said)
    assert "protect it, or accept" not in page
    entry = columns(browser.room.desk.path)["diagnosis"]
    assert entry == {"role": "sensitive", "accept": "homogeneity", "reason": said}
    browser.done("protect", column=browser.number("diagnosis"), l="3")
    data = YAML(typ="safe").load(browser.room.desk.path)
    assert data["columns"]["diagnosis"] == {"role": "sensitive"}
    assert data["privacy"][1]["l"] == 3
    browser.role("diagnosis", "drop")
    data = YAML(typ="safe").load(browser.room.desk.path)
    assert data["privacy"] == [{"model": "k_anonymity", "k": 5}]


def test_whose_privacy_it_is(browser: Browser) -> None:
    spec = browser.room.desk.path
    browser.done("subject", subject=browser.number("patient_id"))
    data = YAML(typ="safe").load(spec)
    assert data["subject"] == "patient_id"
    assert [*data].index("subject") == [*data].index("source") + 1
    browser.done("subject", subject="rows")
    data = YAML(typ="safe").load(spec)
    assert data["accept"] == "rows"
    assert "subject" not in data


def test_what_changed_is_shown_and_taken_back(browser: Browser) -> None:
    spec = browser.room.desk.path
    before = spec.read_bytes()
    assert "Nothing yet" in browser.page()
    page = browser.role("flurb", "drop")
    assert re.search(r'class="removed">-  flurb: \{role: undecided\}', page)
    assert re.search(r'class="added">\+  flurb: \{role: drop\}', page)
    browser.role("flurb", "sensitive")
    browser.done("undo")
    browser.done("undo")
    assert spec.read_bytes() == before
    assert browser.send("undo").status == 422


def test_an_edit_elsewhere_is_shown_and_never_undone(browser: Browser) -> None:
    spec = browser.room.desk.path
    browser.role("flurb", "drop")
    spec.write_text(spec.read_text().replace("k: 5", "k: 7  # agreed with the board"))
    assert "agreed with the board" in browser.page()
    assert browser.send("undo").status == 422
    assert "k: 7  # agreed with the board" in spec.read_text()


def test_a_file_with_mistakes_is_shown_with_them_and_its_roles_can_be_given(
    browser: Browser,
) -> None:
    spec = browser.room.desk.path
    spec.write_text(spec.read_text().replace("k: 5}", "k: five}"))
    page = browser.page()
    assert "has mistakes" in page
    assert "expects a whole number" in page
    assert browser.send("begin", what="run", page="release").status == 200
    job = browser.room.jobs.last["run"]
    assert job.wait(30)
    assert job.state == "failed"
    assert "expects a whole number" in browser.page("release")
    browser.role("flurb", "drop")
    spec.write_text("release: [broken\n")
    assert "not valid YAML" in browser.page()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "just words\n",
        "- a\n- list\n",
        "release: [\n",
        "release: 5\nprivacy: 7\nmethod: [1]\ncolumns: [age]\n",
        "method: {suppression_limit: five}\nprivacy: text\ncolumns: {age: 3, sex: [1]}\n",
        "columns: {age: {role: [x], accept: 7, reason: 3}, 5: {role: sensitive, accept: [1]}}\n",
        "columns:\nsubject: {a: 1}\naccept: [rows]\nprivacy: [5, {model: k_anonymity, k: x}]\n",
        "\x00",
    ],
)
def test_any_text_of_the_file_is_shown_and_no_page_breaks(browser: Browser, text: str) -> None:
    browser.room.desk.path.write_text(text)
    for name in ("columns", "levels", "tradeoff", "release", "ask"):
        assert "<main" in browser.page(name)
    assert browser.get("/0/state").status == 200
    browser.room.desk.path.write_bytes(b"\xff\xfe\x00")
    assert "There is nothing to show" in browser.page()
    browser.room.desk.path.unlink()
    assert "The file is gone" in browser.page()


def test_without_the_script_a_form_leads_back_to_its_page(browser: Browser) -> None:
    body = f"version={browser.version}&page=columns&column={browser.number('flurb')}&role=drop"
    answer = browser.post("/0/role", body)
    assert (answer.status, answer.headers["location"]) == (303, "/0/columns")
    assert columns(browser.room.desk.path)["flurb"] == {"role": "drop"}


def test_what_waits_and_what_is_done_is_told_to_the_script(browser: Browser) -> None:
    import json

    before = json.loads(browser.get("/0/state").body)
    assert before["version"] == browser.version
    assert before["running"] is None
    browser.begun("check")
    assert json.loads(browser.get("/0/state").body)["ended"] == before["ended"] + 1
    assert "Nothing is open." not in browser.page("release")  # two columns are


def test_titles_and_addresses_hold_nothing_of_the_data(browser: Browser) -> None:
    for name in ("columns", "release"):
        page = browser.page(name)
        assert re.findall("<title>(.*)</title>", page)[0] in (
            "dbdeid – Columns",
            "dbdeid – Release",
        )
        links = re.findall(r'(?:href|src|action|formaction)="([^"]*)"', page)
        assert all(re.fullmatch(r"/(static/[a-z]+\.(css|js)|0/[a-z_]+)?", link) for link in links)


@pytest.mark.full
def test_a_project_lists_its_releases(people: Path) -> None:
    folder = people.parent
    Browser(people).open().looked()
    (folder / "dbdeid.yml").write_text("")
    (folder / "releases").mkdir()
    for name in ("one", "two"):
        text = people.with_suffix(".yml").read_text().replace("people_release", f"people_{name}")
        (folder / "releases" / f"{name}.yml").write_text(text)
    browser = Browser(folder).open()
    page = browser.get("/").text
    assert 'href="/0/columns">releases/one.yml' in page
    assert browser.get("/1/columns", ("host", HOST)).status == 421  # two hosts
    assert "two.yml" in browser.get("/1/columns").text
    assert browser.get("/2/columns").status == 404
