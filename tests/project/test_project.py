"""A project as programs and the command line use it, from its first run to its site."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
from folders import PROJECT, lay_out, write
from typer.testing import CliRunner

import dbdeid
from dbdeid.cli.app import app
from dbdeid.errors import DataError, SpecError


def call(*words: str, code: int = 0) -> Any:
    """The command in this process; gives what it prints with --json, and its errors."""
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == code, done.output
    found = json.loads(done.stdout)
    return done.stderr if "mistakes" in found else found


def statuses(document: dict[str, Any]) -> dict[str, str]:
    return {result["release"]: result["status"] for result in document["results"]}


def prints(*folders: Path) -> dict[str, str]:
    files = [p for folder in folders for p in folder.rglob("*") if p.is_file()]
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


IMPOSSIBLE = [{"model": "k_anonymity", "k": 61}]
LOSS = {"expect": {"loss": "< 1"}, "evaluate": {"metrics": ["loss"]}}
INSIDE = {"database": "owner.duckdb"}  # releases are made in it
# where nobody looks at their files, they are written in the full tier only
ANYWHERE = PROJECT if tiers.full else INSIDE


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.full
def test_a_failure_keeps_the_old_release_and_is_mended(home: Path) -> None:
    lay_out(home, {"a": {}, "b": {"tags": ["last"]}, "c": {"depends_on": ["a"]}})
    assert call("run")["exit_code"] == 0
    before = prints(home / "out")
    write(home, "a", privacy=IMPOSSIBLE)
    ended = call("run", "--exclude", "tag:last", code=3)
    assert statuses(ended) == {"a": "failed", "c": "skipped"}
    assert json.loads((home / "results" / "run_results.json").read_text()) == ended
    assert prints(home / "out") == before
    write(home, "a")
    ended = call("run", "--select", "result:failed")
    assert statuses(ended) == {"a": "success", "c": "success"}
    assert call("run", "--select", "result:failed")["results"] == []
    assert statuses(json.loads((home / "results" / "run_results.json").read_text())) == {
        "a": "success",
        "c": "success",
    }
    assert call("run", "-s", "state:modified")["results"] == []
    assert statuses(call("test")) == dict.fromkeys("abc", "success")


@pytest.mark.full
def test_one_release_is_made_from_another(home: Path) -> None:
    second: dict[str, Any] = {
        "database": "../out/a.duckdb",
        "source": {"sql": "SELECT age, ward FROM a", "name": "a"},
        "columns": {"age": "drop", "ward": {"role": "quasi_identifier", "hierarchy": "suppress"}},
    }
    lay_out(home, {"a": {}, "aa": second})
    project = dbdeid.project(home)
    assert [r.name for r in project.releases] == ["a", "aa"]
    assert project.run(["aa"]).exit_code == 2  # its source is not there yet
    assert project.run(["+aa"]).exit_code == 0
    with duckdb.connect(str(home / "out" / "aa.duckdb"), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM aa").fetchone() == (60,)


@pytest.mark.full
def test_expectations_are_tested_as_they_are_now(home: Path) -> None:
    (home / "queries").mkdir()
    (home / "queries" / "q.sql").write_text("SELECT count(*) AS n FROM patients WHERE age < 35")
    asked = {"queries": "queries/*.sql", "metrics": []}
    lay_out(home, {"a": {"evaluate": asked, "expect": {"query_error": "< 0.9"}}, "b": {}}, ANYWHERE)
    assert call("run")["results"][0]["expectations"][0]["holds"] is True
    write(home, "a", evaluate=asked, expect={"query_error": "= 7", "smallest_class": ">= 3"})
    ended = call("test", code=4)
    assert statuses(ended) == {"a": "failed", "b": "success"}
    tested = ended["results"][0]
    assert [e["holds"] for e in tested["expectations"]] == [False, True]
    assert tested["verified"] is True
    assert "query_error is" in tested["message"]
    # what was not measured then is measured now
    metrics = {"metrics": ["loss", "propensity"]}
    write(home, "a", evaluate=metrics, expect={"propensity": ">= 0"})
    assert call("test", "-s", "a")["results"][0]["expectations"][0]["found"] is not None
    assert statuses(call("test", "releases/b.yml"))["b"] == "success"
    assert json.loads((home / "results" / "test_results.json").read_text())["exit_code"] == 0


@pytest.mark.full
def test_a_broken_release_is_caught_and_the_rest_tested(home: Path) -> None:
    lay_out(home, {"a": {}, "b": {}}, INSIDE)
    call("run")
    with duckdb.connect("owner.duckdb") as con:
        con.execute("DELETE FROM a WHERE illness = 'flu'")
    ended = call("test", code=4)
    assert statuses(ended) == {"a": "failed", "b": "success"}
    assert ended["results"][0]["verified"] is False
    assert "patient" not in json.dumps(ended)


@pytest.mark.full
def test_releases_made_elsewhere_and_previews_have_their_place(home: Path) -> None:
    made = "CREATE TABLE given AS SELECT '*' AS age, ward, illness FROM patients"
    external = {"method": {"name": "external", "table": "given"}, "target": None}
    columns = {
        "age": {"role": "quasi_identifier"},
        "ward": {"role": "quasi_identifier"},
        "illness": {"role": "sensitive", "accept": "homogeneity"},
        "name": "identifier",
    }
    lay_out(
        home,
        {"seen": {"output": {"as": "view"}}, "given": {**external, "columns": columns}},
        {"database": "owner.duckdb"},
    )
    with duckdb.connect("owner.duckdb") as con:
        con.execute(made)
    assert statuses(call("run")) == {"seen": "success"}
    assert statuses(call("test")) == {"given": "success"}
    page = (home / call("docs")["site"]).read_text()
    assert "preview" in page
    assert 'href="given.html"' in page
    public = (home / call("docs", "--audience", "public")["site"]).read_text()
    assert "given.html" in public
    assert "seen" not in public


def test_the_site_shows_every_release_and_tells_the_public_little(home: Path) -> None:
    lay_out(home, {"a": LOSS, "b": {}, "c": {"privacy": IMPOSSIBLE}}, ANYWHERE)
    call("run", code=3)
    (index,) = [home / call("docs")["site"]]
    assert index == home / "site" / "internal" / "index.html"
    page = index.read_text()
    assert all(f">{name}<" in page for name in ("a", "b"))
    assert "loss&nbsp;&lt; 1" in page
    assert "last run: failed" in page
    assert "no release yet" in page
    folder = index.parent
    names = {"index.html", "a.html", "a.json", "b.html", "b.json"}
    assert {p.name for p in folder.iterdir()} == names
    for found in folder.glob("*.html"):
        text = found.read_text()
        links = set(re.findall(r'(?:href|src)="([^"#][^"]*)"', text))
        assert all((folder / link).is_file() for link in links)
        assert "http" not in re.sub(r"http-equiv", "", text)

    public = home / call("docs", "--audience", "public", "-o", "given")["site"]
    text = public.read_text()
    assert {p.name for p in public.parent.iterdir()} == names
    assert "a.html" in text
    for secret in ("releases/", "last run", "never run", "Expected", "Rests on", "owner.duckdb"):
        assert secret not in text

    write(home, "a", privacy=[{"model": "k_anonymity", "k": 4}])
    (home / "releases" / "b.yml").unlink()
    (folder / "mine.html").write_text("notes of my own")
    page = (home / call("docs")["site"]).read_text()
    assert "the spec has changed since" in page
    assert {p.name for p in folder.iterdir()} == {"index.html", "a.html", "a.json", "mine.html"}


@pytest.mark.full
def test_the_public_site_has_nothing_that_failed_its_last_test(home: Path) -> None:
    lay_out(home, {"a": {}, "b": {}})
    call("run")
    call("test")
    with duckdb.connect(str(home / "out" / "a.duckdb")) as con:
        con.execute("INSERT INTO a SELECT * FROM a LIMIT 1")
    assert statuses(call("test", code=4)) == {"a": "failed", "b": "success"}
    page = (home / call("docs")["site"]).read_text()
    assert "last test: failed" in page
    assert "2 releases, 1 with promises verified" in page
    public = (home / call("docs", "--audience", "public")["site"]).parent
    assert {p.name for p in public.glob("*.html")} == {"index.html", "b.html"}
    (home / "out" / "a.duckdb").unlink()  # a run that comes after the test is another release
    call("run", "--select", "a")
    call("docs", "--audience", "public", "--exclude", "b")
    assert {p.name for p in public.glob("*.html")} == {"index.html", "a.html"}


@pytest.mark.full
def test_the_public_site_is_of_what_verifies_now(home: Path) -> None:
    lay_out(home, {"a": {}, "b": {}})
    call("run")
    with duckdb.connect(str(home / "out" / "a.duckdb")) as con:
        con.execute("INSERT INTO a SELECT * FROM a LIMIT 1")
    told = call("docs", "--audience", "public", "-o", "given", code=4)
    assert "does not verify now, and there are no public pages with a" in told
    assert not (home / "given").exists()
    call("docs", "--audience", "public", "-o", "given", "--exclude", "a")
    assert (home / "given" / "b.html").exists()


def test_the_site_overwrites_no_page_of_others(home: Path) -> None:
    lay_out(home, {"a": {}}, ANYWHERE)
    call("run")
    (home / "mine").mkdir()
    (home / "mine" / "index.html").write_text("<h1>my page</h1>")
    told = call("docs", "-o", "mine", code=2)
    assert "no page of dbdeid" in told
    assert [p.name for p in (home / "mine").iterdir()] == ["index.html"]


def test_a_project_that_never_ran_has_a_site(home: Path) -> None:
    lay_out(home, {"a": {}, "b": {"database": "../out/a.duckdb", "source": "a"}})
    assert (home / call("docs")["site"]).read_text().count("no release yet") == 2


def test_it_is_found_from_below_and_by_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = lay_out(home / "project", {"a": {}}, ANYWHERE)
    assert "no dbdeid.yml" in call("run", code=2)
    assert statuses(call("run", "--project", "project")) == {"a": "success"}
    monkeypatch.chdir(folder / "releases")
    assert statuses(call("test")) == {"a": "success"}
    assert dbdeid.project(folder / "dbdeid.yml").file.folder == folder
    with pytest.raises(DataError, match=r"no dbdeid\.yml"):
        dbdeid.project(home / "nowhere")


@pytest.mark.full
def test_a_spec_of_a_project_is_one_everywhere(home: Path) -> None:
    lay_out(home, {"a": {"privacy": None}}, {**DEFAULTED})
    spec = "releases/a.yml"
    assert call("check", spec)["release"] == "a"
    assert call("run", spec)["smallest_class"] >= 6
    assert call("verify", spec)["verified"] is True
    assert call("list", "out/a.duckdb")[0]["release"] == "a"
    assert call("query", spec, "SELECT count(*) AS n FROM patients")["rows"][0]["n"] == 60
    assert dbdeid.verify(spec).verified
    write(home, "a", privacy=None)
    (home / "dbdeid.yml").write_text(json.dumps({**DEFAULTED, "defaults": {"privacy": IMPOSSIBLE}}))
    assert call("run", "-s", "state:modified", code=3)["exit_code"] == 3


DEFAULTED = {
    "database": "owner.duckdb",
    "target": "out/{release}.duckdb",
    "defaults": {"privacy": [{"model": "k_anonymity", "k": 6}]},
}


@pytest.mark.full
def test_a_database_that_another_process_has_open_loses_nothing(home: Path) -> None:
    """As while dbt works on it."""
    lay_out(home, {"a": {"target": None}, "b": {"target": None}}, {"database": "owner.duckdb"})
    call("run", "-s", "a")
    before = prints(home)
    code = (
        "import duckdb, sys; con = duckdb.connect('owner.duckdb'); print('open', flush=True);"
        " sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        ended = call("run", code=2)
        told = [result["message"] for result in ended["results"]]
        assert statuses(ended) == {"a": "failed", "b": "failed"}
        assert all("the database is locked" in t and "close it there" in t for t in told)
        assert statuses(call("test", "-s", "a", code=2)) == {"a": "failed"}
        other.communicate()
    results = {str(home / "results" / f"{what}_results.json") for what in ("run", "test")}
    after = prints(home)
    assert {p: h for p, h in after.items() if p not in results} == {
        p: h for p, h in before.items() if p not in results
    }
    assert statuses(call("run", "-s", "result:failed")) == {"a": "success", "b": "success"}


def test_words_of_people(home: Path) -> None:
    lay_out(
        home,
        {
            "a": LOSS,
            "b": {"privacy": IMPOSSIBLE},
            "c": {"depends_on": ["b"]},
        },
    )
    done = CliRunner().invoke(app, ["run"])
    lines = [line for line in done.stdout.splitlines() if not line.startswith("          note: ")]
    assert re.fullmatch(
        r"success   a  60 of 60 records, smallest class of \d+, loss 0\.\d+, promises verified, "
        r"[\d.]+% of the records unique over all \d columns released  .* s",
        lines[0],
    )
    assert lines[1].startswith("failed    b  no transformation")
    assert lines[2].rstrip() == "skipped   c  rests on 'b', which failed"
    assert re.fullmatch(
        r"1 succeeded, 1 failed, 1 skipped in .* s; results in results/run_results\.json", lines[3]
    )
    assert done.stderr.startswith("error: b: no transformation")
    tested = CliRunner().invoke(app, ["test", "-s", "a"]).stdout
    assert re.search(r"success   a  promises verified; loss 0[.\d]* \(< 1\)", tested)
    assert "nothing to do" in CliRunner().invoke(app, ["run", "-s", "result:success,b"]).stdout
    assert CliRunner().invoke(app, ["test", "-s", "a", "--quiet"]).stdout == ""


def test_steps_are_shown_and_not_taken(home: Path) -> None:
    lay_out(home, {"a": {}, "b": {}})
    before = prints(home)
    assert [set(d) for d in call("run", "--explain")] == [{"steps"}, {"steps"}]
    assert prints(home) == before


def test_nothing_runs_when_a_release_would_be_lost(home: Path) -> None:
    lay_out(home, {"a": {}, "b": {"database": None, "source": "../x.csv"}}, "")
    before = prints(home)
    assert "b.yml: nothing would remain" in call("run", "-s", "b", code=2)
    assert prints(home) == before


def test_mistakes_are_raised_in_programs(home: Path) -> None:
    lay_out(home, {"a": {"method": "none"}})
    with pytest.raises(SpecError):
        dbdeid.project(home).run()
    assert not (home / "results").exists()


INTERRUPTING = """
import sys
from dbdeid.__main__ import main
import dbdeid.release.run as run
from dbdeid.methods.full_domain import full_domain

planned = full_domain.plan
count = 0

def plan(*given):
    global count
    count += 1
    if count == 2:
        print("searching", flush=True)
        import time
        for _ in range(600):
            time.sleep(0.1)
    return planned(*given)

full_domain.plan = plan
sys.argv = ["dbdeid", "run", "--json"]
main()
"""


@pytest.mark.full
def test_an_interrupt_is_told_in_the_results(home: Path) -> None:
    lay_out(home, {"a": {}, "b": {}, "c": {}})
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTING],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "searching\n"
        os.kill(running.pid, signal.SIGINT)
        printed, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    ended = json.loads(printed)
    assert ended == json.loads((home / "results" / "run_results.json").read_text())
    assert statuses(ended) == {"a": "success", "b": "interrupted", "c": "skipped"}
    assert ended["interrupted"] is True
    assert not (home / "out" / "b.duckdb").exists()
    assert [r.name for r in dbdeid.project(home).select("result:failed")] == ["b", "c"]
