"""The command line, also as a process: documents, exit codes, streams, and what is left."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
import typer
from served import Server
from specs import PEOPLE, small, unmeasured
from tiers import some
from typer.testing import CliRunner

from dbdeid.cli import command as commands
from dbdeid.cli.app import app
from dbdeid.cli.command import interruptible

QUERY = "SELECT sex, count(*) AS n FROM people GROUP BY sex"
Call = Callable[..., subprocess.CompletedProcess[str]]
RUN_KEYS = {
    "release",
    "trial",
    "together",
    "useless",
    "method",
    "source_rows",
    "source_subjects",
    "released_rows",
    "suppressed_rows",
    "suppressed_subjects",
    "counterfeit_rows",
    "relocated_rows",
    "recoding",
    "padding",
    "policy",
    "synthetic",
    "masked",
    "models_overall",
    "models",
    "classes",
    "smallest_class",
    "null_policy",
    "transformation",
    "loss",
    "metrics",
    "search",
    "verified",
    "promises",
    "expectations",
    "rerelease",
    "remains",
    "warnings",
    "seconds",
}


def lay_out() -> None:
    """An owner's database, a spec with a target (a.yml), one without (b.yml), a workload: here."""
    Path("queries").mkdir()
    Path("queries/sex.sql").write_text(QUERY)
    with duckdb.connect("owner.duckdb") as con:
        con.execute(PEOPLE)
    asked = {"queries": "queries/*.sql", "metrics": ["loss"]}
    write("a", database="owner.duckdb", target="a.duckdb", evaluate=asked)
    write("b", database="owner.duckdb", release="inside")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which nothing was run."""
    monkeypatch.chdir(tmp_path)
    lay_out()
    return tmp_path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A folder in which both specs were run, once for all tests that begin with that, and what
    the command told of it."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        lay_out()
        return folder, document("run", "a.yml", "b.yml")


@pytest.fixture
def released(made: tuple[Path, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folder in which both specs were run."""
    monkeypatch.chdir(shutil.copytree(made[0], tmp_path, dirs_exist_ok=True))
    return tmp_path


def write(name: str, **more: Any) -> None:
    more.setdefault("release", name)
    Path(f"{name}.yml").write_text(json.dumps(unmeasured(**more)))


@pytest.fixture(scope="module", autouse=True)
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    global running
    with Server(tmp_path_factory.mktemp("told") / "told") as running:
        yield


running: Server


def process(*words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, which is spared loading dbdeid where it reads nothing."""
    if stdin is None:
        ended = running.run(Path.cwd(), *words)
        done = subprocess.CompletedProcess(words, ended.code, ended.out, ended.err)
    else:
        command = [sys.executable, "-m", "dbdeid", *words]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr
    assert "defect" not in done.stderr
    return done


def call(*words: str) -> subprocess.CompletedProcess[str]:
    """A command in this process, where none of its own is needed."""
    ended = CliRunner().invoke(app, words)
    assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
    assert "Traceback" not in ended.stderr
    assert "defect" not in ended.stderr
    return subprocess.CompletedProcess(words, ended.exit_code, ended.stdout, ended.stderr)


def document(*words: str, code: int = 0, run: Call = call) -> Any:
    done = run(*words, "--json")
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def prints(path: Path = Path()) -> dict[str, str]:
    return {
        p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in path.iterdir() if p.is_file()
    }


# -- a release, from check to report -----------------------------------------------------------


def test_the_life_of_a_release(place: Path) -> None:
    checked = document("check", "a.yml", run=process)
    assert {"release", "source_rows", "lattice_size", "risk", "columns", "warnings"} <= set(checked)
    assert prints().keys() == {"a.yml", "b.yml", "owner.duckdb"}

    owner = prints()["owner.duckdb"]
    made = document("run", "a.yml", run=process)
    assert set(made) == RUN_KEYS
    assert {"lattice_size", "checked", "proven_optimal", "lower_bound"} <= set(made["search"])
    assert made["search"]["name"] == "optimal"
    assert made["search"]["gap"] == 0
    assert made["verified"] is True
    assert made["source_rows"] == made["released_rows"] + made["suppressed_rows"] == 200
    assert prints()["owner.duckdb"] == owner

    verified = document("verify", "a.yml", run=process)
    assert set(verified) == {
        "verified",
        "promises",
        "hygiene",
        "unique",
        "source_changed",
        "unpublishable",
    }
    assert {frozenset(p) for p in verified["promises"]} == {
        frozenset({"model", "declared", "found", "holds"})
    }
    assert {frozenset(c) for c in verified["hygiene"]} == {frozenset({"check", "holds", "detail"})}

    evaluated = document("evaluate", "a.yml")
    assert set(evaluated) == {
        *("recoding", "metrics", "queries", "models", "models_overall", "unpublishable")
    }
    assert evaluated["queries"]["queries"][0]["name"] == "sex"

    made = document("workload", "b.yml", "drawn", "--queries", "3", "--dimensions", "1")
    assert set(made) == {
        "directory",
        "queries",
        "dimensions",
        "selectivity",
        "seed",
        "columns",
        "left_out",
        "reached",
    }
    assert sorted(p.name for p in Path("drawn").iterdir()) == ["q001.sql", "q002.sql", "q003.sql"]

    exported = document("export", "a.yml", "out.csv")["exported"]
    assert exported == ["out.csv", "out_dictionary.csv"]
    assert call("export", "a.yml", "out.csv").returncode == 2
    assert document("verify", "out.csv", "--qi", "age", "--qi", "sex", "--k", "2")["verified"]

    for audience in ("internal", "public"):
        page = document("report", "a.yml", "--audience", audience, "-o", f"{audience}.html")
        assert Path(page["report"]).read_text().startswith("<!")
    assert [entry["release"] for entry in document("list", "a.duckdb")] == ["a"]


@pytest.mark.full
def test_the_same_in_words(place: Path) -> None:
    for words, said in (
        (["check", "a.yml"], "fits its data"),
        (["run", "a.yml", "b.yml"], "proven optimal"),
        (["verify", "a.yml"], "every promise holds in the table, a.duckdb"),
        (["evaluate", "a.yml"], "mean relative error"),
        (["risk", "owner.duckdb", "people", "--qi", "age"], "smallest class"),
        (["list", "owner.duckdb"], "inside"),
        (["init", "owner.duckdb", "people"], "quasi_identifier"),
        (["macros", "print"], "CREATE OR REPLACE MACRO deid.risk"),
        (["macros", "install", "owner.duckdb"], "macros in schema deid"),
    ):
        done = process(*words)
        assert (done.returncode, done.stderr) == (0, "")
        assert said in done.stdout
        assert process(*words, "--quiet").stdout == ""


@pytest.mark.full
def test_two_runs_give_one_list(made: tuple[Path, Any]) -> None:
    assert [result["release"] for result in made[1]] == ["a", "inside"]


def test_risk_as_json(place: Path) -> None:
    found = document(
        "risk", "owner.duckdb", "people", "--qi", "age", "--qi", "sex", "--k", "3", run=process
    )
    assert set(found) == {
        "histogram",
        "null_policy",
        "records",
        "subjects",
        "classes",
        "k",
        "highest_risk",
        "average_risk",
        "unique_records",
        "records_at_risk",
    }
    assert found["records"] == 200
    assert found["null_policy"] == "own_category"
    assert sum(size["records"] for size in found["histogram"]) == 200
    assert document("risk", "owner.duckdb", "people", "--qi", "sex", "--subject", "NAME")["k"] > 1


def visits(path: str) -> None:
    """Seven visits of five people: six of age 20 by two of them, one without an age."""
    with duckdb.connect() as con:
        con.execute("CREATE TABLE v AS SELECT 'p' || i % 2 AS person, 20 AS age FROM range(6) r(i)")
        con.execute("INSERT INTO v VALUES ('p3', NULL)")
        con.execute(f"COPY v TO '{path}'")


@pytest.mark.full
def test_risk_counts_people_and_nulls_as_told(place: Path) -> None:
    visits("v.parquet")
    words = ("risk", "v.parquet", "--qi", "age", "--subject", "person", "--null-policy")
    exclude, wildcard = document(*words, "exclude"), document(*words, "wildcard")
    assert (exclude["records"], exclude["subjects"], exclude["k"]) == (7, 3, 2)
    assert (exclude["classes"], exclude["records_at_risk"]) == (1, 7)
    assert (wildcard["subjects"], wildcard["k"], wildcard["average_risk"]) == (3, 3, 1 / 3)
    assert (exclude["null_policy"], wildcard["null_policy"]) == ("exclude", "wildcard")
    told = call(*words, "exclude").stdout
    assert "null_policy exclude: records with a NULL have no class" in told
    assert re.search(r"subjects \(person\) +3\n", told)


@pytest.mark.full
@pytest.mark.parametrize(
    ("options", "found"),
    [
        ((), 1),
        (("--null-policy", "wildcard"), 7),
        (("--null-policy", "exclude"), 0),
        (("--null-policy", "wildcard", "--subject", "person"), 3),
    ],
)
def test_verify_counts_people_and_nulls_as_told(
    place: Path, options: tuple[str, ...], found: int
) -> None:
    visits("v.parquet")
    words = ("verify", "v.parquet", "--qi", "age", *options, "--k")
    done = call(*words, "4", "--json")
    (promise,) = json.loads(done.stdout)["promises"]
    assert (promise["found"], promise["holds"]) == (found, found >= 4)
    assert done.returncode == (0 if found >= 4 else 4)
    policy = options[1] if options else "own_category"
    people = {"subject": "person"} if "--subject" in options else {}
    assert promise["declared"] == {"k": 4, "null_policy": policy} | people
    assert f"null_policy {policy}" in call(*words, "4").stdout
    assert call(*words, str(max(found, 1))).returncode == (0 if found else 4)


def test_database_threads_and_memory_are_given_on_the_command_line(place: Path) -> None:
    Path("owner.duckdb").rename("moved.duckdb")
    more = ("--database", "moved.duckdb", "--threads", "1", "--memory-limit", "1GB")
    assert document("check", "a.yml", *more)["source_rows"] == 200
    assert call("check", "a.yml").returncode == 2


# -- explain -----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["run", "check"])
def test_explain_shows_sql_that_parses_and_touches_nothing(place: Path, command: str) -> None:
    before = prints()
    (steps,) = document(command, "b.yml", "--explain").values()
    assert {"deid_source", "verify_k_anonymity"} <= {step["name"] for step in steps}
    with duckdb.connect() as con:
        for step in steps:
            assert len(con.extract_statements(step["sql"])) == 1
    assert "-- step deid_source" in call(command, "b.yml", "--explain").stdout
    assert prints() == before


def test_explain_of_two_specs_is_one_list(place: Path) -> None:
    assert len(document("run", "a.yml", "b.yml", "--explain")) == 2


def test_a_command_without_steps_refuses_explain_and_executes_nothing(place: Path) -> None:
    done = call("macros", "install", "owner.duckdb", "--explain")
    assert (done.returncode, done.stdout) == (2, "")
    assert call("list", "owner.duckdb").stdout == "no releases yet\n"


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.sampled(11)
@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["run"],
        ["run", "missing.yml"],
        ["run", "a.yml", "--bogus"],
        ["run", "a.yml", "--threads", "0"],
        ["run", "a.yml", "--memory-limit", "much"],
        ["run", "a.yml", "--database", "missing.duckdb"],
        ["verify", "a.yml"],
        ["verify", "missing.parquet", "--qi", "age", "--k", "5"],
        ["verify", "owner.duckdb"],
        ["evaluate", "a.yml"],
        ["export", "a.yml", "x.csv"],
        ["export", "a.yml", "x.xlsx"],
        ["report", "a.yml"],
        ["report", "a.yml", "--audience", "everyone"],
        ["list", "missing.duckdb"],
        ["init", "missing.parquet"],
        ["risk", "owner.duckdb", "people", "--qi", "agee"],
        ["risk", "owner.duckdb", "people", "--qi", "age", "--sensitive", "ilness"],
        ["risk", "owner.duckdb", "people", "--qi", "age", "--subject", "nam"],
        ["risk", "owner.duckdb", "people", "--qi", "age", "--subject", ""],
        ["risk", "owner.duckdb", "people", "--qi", "age", "--null-policy", "ignore"],
        ["verify", "a.yml", "--subject", "name"],
        ["verify", "a.yml", "--null-policy", "exclude"],
        ["search", "a.yml", "--k", "3,3"],
        ["search", "a.yml", "--suppression", "2"],
        ["query", "a.yml", "SELECT count(*) FROM people"],  # never run
        ["query", "a.yml", "missing.sql"],
        ["query", "owner.duckdb", "SELECT count(*) FROM people"],
        ["frontier", "a.yml"],
        ["demo", "a.yml"],
        ["demo", "/proc/nowhere"],
        ["sql", "owner.duckdb", "missing.sql"],
    ],
    ids=" ".join,
)
def test_bad_input_is_told_on_stderr_and_nothing_is_left(place: Path, words: list[str]) -> None:
    before = prints()
    done = process(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "rror" in done.stderr
    assert prints() == before


@pytest.mark.full
def test_a_search_releases_nothing_and_draws_a_page(place: Path) -> None:
    owner = prints()["owner.duckdb"]
    found = document("search", "a.yml", run=process)
    page = str(place / "a_search.html")
    assert found["page"] == page
    assert {"transformation", "loss", "k", "suppression_limit", "neighbours"} <= set(found)
    assert prints().keys() == {"a.yml", "b.yml", "owner.duckdb", Path(page).name}
    assert prints()["owner.duckdb"] == owner
    told = call("search", "a.yml").stdout
    assert "nothing was released" in told
    assert "transformations checked, proven optimal" in told
    assert f"page: {page} (internal)" in told

    swept = document("search", "a.yml", "--k", "2,201", "--suppression", "0.1,0", "-o", "g.html")
    demands = [(c["k"], c["suppression_limit"]) for c in swept["cells"]]
    assert demands == [(2, 0.0), (2, 0.1), (201, 0.0), (201, 0.1)]
    assert swept["cells"][1]["transformation"] == found["transformation"]
    lines = call("search", "a.yml", "--k", "2,201", "-o", "g.html").stdout.splitlines()
    assert lines[1].split() == [
        *("k", "limit", "loss", "records", "suppressed", "checks"),
        *("seconds", "proven", "transformation"),
    ]
    assert lines[2].split()[:3] == ["2", "10%", f"{found['loss']:.4f}"]
    assert lines[3].endswith("none satisfies")
    assert call("search", "a.yml", "--quiet").stdout == ""


def test_a_search_whose_time_is_up_is_told_as_such(place: Path) -> None:
    method = {"name": "full_domain", "suppression_limit": 0.1, "time_limit": 1e-9}
    write("c", database="owner.duckdb", target="c.duckdb", method=method)
    told = call("run", "c.yml").stdout
    assert re.search(
        r"search +\d of 32 transformations checked, until its time was up, not proven", told
    )
    found = document("list", "c.duckdb")[0]["transformation"]
    assert found != {"age": 3, "zip": 3, "sex": 1}
    report = document("report", "c.yml", "-o", "c.html")["report"]
    assert "not proven: a better choice of levels may exist" in Path(report).read_text()


@pytest.mark.full
def test_a_release_answers_what_its_source_was_asked(released: Path) -> None:
    before = prints()
    found = document("query", "a.yml", QUERY)
    assert set(found) == {"columns", "rows", "sql", "notes", "suppressed"}
    assert found["columns"] == ["sex", "n", "n_lower", "n_upper"]
    assert {frozenset(row) for row in found["rows"]} == {frozenset(found["columns"])}
    Path("asked.sql").write_text(f"{QUERY};")
    done = process("query", "a.duckdb", "-", "--json", stdin=QUERY)
    assert done.returncode == 0, done.stderr
    write("moved", database="owner.duckdb", release="inside")
    for answer in (
        json.loads(done.stdout),
        document("query", "a.yml", "asked.sql"),
        document("query", "moved.yml", QUERY, "--database", "owner.duckdb"),
    ):
        assert sorted(map(str, answer["rows"])) == sorted(map(str, found["rows"]))
    told = call("query", "a.duckdb", QUERY).stdout
    assert "n_lower" in told
    assert "note: people is read as the source of a" in told
    refused = call("query", "a.yml", "SELECT name FROM people")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "name, which is not released" in refused.stderr
    now = prints()
    assert {name: now[name] for name in before} == before
    assert now.keys() - before.keys() == {"asked.sql", "moved.yml"}


@pytest.mark.full
def test_a_workload_of_which_nothing_was_answered_is_a_mistake(released: Path) -> None:
    for query in Path("queries").glob("*.sql"):
        query.write_text("SELECT mode(age) FROM people")
    found = call("evaluate", "a.yml", "--json")
    assert found.returncode == 2
    assert json.loads(found.stdout)["queries"]["answered"] == 0
    assert "no query of the workload was answered" in found.stderr


def test_the_sql_of_a_question_is_shown_and_not_run(released: Path) -> None:
    asked = ("query", "a.yml", QUERY)
    found = json.loads(call(*asked, "--json").stdout)
    assert call(*asked, "--explain").stdout.rstrip("\n") == found["sql"]
    assert json.loads(call(*asked, "--explain", "--json").stdout) == {"sql": found["sql"]}
    for dialect, quote in (("spark", "`"), ("postgres", '"')):
        told = call(*asked, "--explain", "--dialect", dialect).stdout
        assert f"{quote}a_dictionary{quote}" in told
        assert "a.main" not in told
    assert call(*asked, "--dialect", "spark").returncode == 2
    assert call(*asked, "--explain", "--dialect", "cobol").returncode == 2
    spread = json.loads(call(*asked, "--spread-suppressed", "--json").stdout)
    assert sum(row["n"] for row in spread["rows"]) == pytest.approx(200)


FRONTIER_KEYS = {
    *("points", "reference", "dominating_safe_harbor", "area", "evaluated"),  # of the contract
    *("release", "source_rows", "population", "people", "risk", "utility", "search", "budget"),
    *("spent", "columns", "equal", "not_representable", "distance", "chosen", "choose"),
    *("neighbours", "page", "warnings", "seconds"),
}


def of_policies(name: str, **chosen: Any) -> None:
    """A spec of people whose domains are declared, over policies."""
    columns = {
        "age": {"role": "quasi_identifier", "domain": [0, 120]},
        "zip": {"role": "quasi_identifier", "domain": [str(10000 + i) for i in range(400)]},
        "sex": {"role": "quasi_identifier", "order": ["f", "m", "unknown"]},
    }
    known = "SELECT * REPLACE (coalesce(sex, 'unknown') AS sex) FROM people"
    source = {"sql": known, "name": "people"}
    method = {"name": "policy", "budget": 200, "safe_harbor": {"age": "age"}}
    write(
        name,
        database="owner.duckdb",
        target=f"{name}.duckdb",
        source=source,
        method=method | chosen,
        columns=small()["columns"] | columns,
    )


@pytest.mark.full
def test_a_frontier_is_told_and_drawn(place: Path) -> None:
    owner = prints()["owner.duckdb"]
    of_policies("p", choose={"max_risk": 0.4})
    told = document("frontier", "p.yml", run=process)
    assert set(told) == FRONTIER_KEYS
    assert {"risk", "loss", "policy"} <= set(told["points"][0])
    assert Path(told["page"]).read_text().startswith("<!")
    assert Path(told["page"]) == place / "p_frontier.html"
    assert prints().keys() == {"a.yml", "b.yml", "p.yml", "owner.duckdb"} | {
        "p_frontier.html",
        "p.private.duckdb",
    }
    point = told["points"][told["chosen"] - 1]
    assert point["risk"] <= 0.4
    assert prints()["owner.duckdb"] == owner
    assert call("frontier", "a.yml").returncode == 2


@pytest.mark.full
def test_a_point_of_a_frontier_is_released(place: Path) -> None:
    owner = prints()["owner.duckdb"]
    of_policies("p", choose={"max_risk": 0.4})
    told = document("frontier", "p.yml")
    point = told["points"][told["chosen"] - 1]
    made = document("run", "p.yml")
    assert made["policy"] == point["policy"]
    assert made["verified"]
    assert document("verify", "p.yml")["verified"]
    assert prints()["owner.duckdb"] == owner
    words = call("frontier", "p.yml").stdout
    assert f"point {told['chosen']}, which dbdeid run releases" in words
    assert "What it was chosen from" in Path(document("report", "p.yml")["report"]).read_text()
    of_policies("q")
    assert document("frontier", "q.yml")["chosen"] is None
    refused = call("run", "q.yml")
    assert refused.returncode == 2
    assert "no policy is chosen" in refused.stderr


def test_no_release_is_exit_3(place: Path) -> None:
    write(
        "none",
        database="owner.duckdb",
        target="none.duckdb",
        privacy=[{"model": "k_anonymity", "k": 201}],
    )
    done = process("run", "none.yml", "--json")
    assert (done.returncode, json.loads(done.stdout)["exit_code"]) == (3, 3)
    assert done.stderr.removeprefix("error: ").strip() == json.loads(done.stdout)["error"]
    assert not Path("none.duckdb").exists()


def test_mistakes_of_a_specification_are_listed_for_programs(place: Path) -> None:
    Path("bad.yml").write_text("release: a\nsource: people\nprivaci: []\n")
    found = json.loads(call("check", "bad.yml", "--json").stdout)
    assert found["exit_code"] == 2
    assert ("privaci", 3) in {(one["place"], one["line"]) for one in found["mistakes"]}
    assert all(one["message"] in found["error"] for one in found["mistakes"])


@pytest.mark.parametrize("words", [("check", "a.yml", "--nonsense"), ("chekc",), ("risk",)])
def test_wrong_words_are_told_to_programs_as_json(place: Path, words: tuple[str, ...]) -> None:
    done = process(*words, "--json")
    assert done.returncode == 2
    found = json.loads(done.stdout)
    assert (found["exit_code"], found["mistakes"]) == (2, [])
    assert found["error"] in done.stderr


def test_help_lists_each_argument_once(place: Path) -> None:
    shown = call("init", "--help").stdout
    assert shown.count("A file, folder or database.") == 1
    assert shown.count("The table in a database.") == 1


def test_json_behind_two_dashes_is_an_argument_and_no_option(place: Path) -> None:
    done = process("check", "a.yml", "--nonsense", "--", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--nonsense" in done.stderr


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_draft_is_utf_8_wherever_it_is_read(place: Path, encoding: str) -> None:
    Path("n.csv").write_text("alter,größe,名前\n" + "30,1,a\n31,2,b\n" * 2, encoding="utf-8")
    words = [sys.executable, "-m", "dbdeid", "init", "n.csv"]
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(words, capture_output=True, env=env, check=True)
    assert "名前" in done.stdout.decode("utf-8")
    read, write = pty.openpty()  # a terminal that lacks the letters
    with subprocess.Popen(words, stdout=write, stderr=subprocess.PIPE, env=env) as shown:
        os.close(write)
        said = b""
        while chunk := _chunk(read):
            said += chunk
    os.close(read)
    assert shown.returncode == 0
    assert b"\\u540d\\u524d" in said or "名前".encode() in said
    assert (
        b"suppression_limit: share of records that may be left out; time_limit: seconds to" in said
    )


def _chunk(read: int) -> bytes:
    try:
        return os.read(read, 1 << 16)
    except OSError:  # on Linux, when the other end is closed
        return b""


def test_names_of_columns_may_be_listed_by_commas(place: Path) -> None:
    with duckdb.connect() as con:
        con.execute("COPY (FROM (VALUES (1, 2, 3), (1, 2, 3)) t(a, b, \"c,d\")) TO 'v.parquet'")

    def classes(*qi: str) -> object:
        words = (word for one in qi for word in ("--qi", one))
        return json.loads(call("risk", "v.parquet", *words, "--json").stdout).get("classes")

    assert classes("a,b", '"c,d"') == classes("a", 'b, "c,d"') == 1
    assert classes("c,d") is None


def test_a_name_alone_is_taken_as_it_stands(place: Path) -> None:
    with duckdb.connect() as con:
        con.execute('COPY (FROM (VALUES (1, 2), (1, 3)) t(" a", """b""")) TO \'v.parquet\'')
    words = ("risk", "v.parquet", "--qi", " a", "--qi", '"b"', "--json")
    assert json.loads(call(*words).stdout)["classes"] == 2


def test_values_are_named_on_request_and_never_those_of_a_withheld_column(place: Path) -> None:
    Path("sex.csv").write_text("f;*\n")
    spec = small(database="owner.duckdb", target="a.duckdb")
    spec["columns"]["sex"]["hierarchy"] = "sex.csv"
    Path("a.yml").write_text(json.dumps(spec))
    plain, shown = call("run", "a.yml"), call("run", "a.yml", "--show-values")
    assert plain.returncode == shown.returncode == 2
    assert "sex" in plain.stderr
    assert "For example" not in plain.stderr
    assert "For example: 'm'" in shown.stderr
    assert "person" not in shown.stderr


# -- verification ------------------------------------------------------------------------------


def test_a_tampered_target_is_caught_and_named(released: Path) -> None:
    with duckdb.connect("a.duckdb") as con:
        con.execute("DELETE FROM a WHERE rowid = 0")
    done = process("verify", "a.yml")
    assert done.returncode == 4
    assert "NOT verified" in done.stdout
    assert "verification failed" in done.stderr
    found = document("verify", "a.yml", code=4)
    assert not found["verified"]
    failed = [p["model"] for p in found["promises"] if not p["holds"]]
    failed += [c["check"] for c in found["hygiene"] if not c["holds"]]
    assert failed
    assert all(name in done.stderr for name in failed)


@pytest.mark.full
def test_a_tampered_export_is_caught_and_a_missing_one_is_bad_input(place: Path) -> None:
    write("a", database="owner.duckdb", output={"export": ["a.parquet"]})
    assert call("run", "a.yml").returncode == 0
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS FROM 'a.parquet' LIMIT 3; COPY t TO 'a.parquet'")
    done = call("verify", "a.yml")
    assert done.returncode == 4
    assert "(a.parquet)" in done.stderr
    Path("a.parquet").unlink()
    assert call("verify", "a.yml").returncode == 2


# -- SIGINT and progress -----------------------------------------------------------------------


# What a book keeps of a run at the least.
EARLIER = {
    **{"release": "ihis", "method": "full_domain", "version": "0", "source": "ihis"},
    **{"created": "2026-02-03T10:15:42+00:00", "source_rows": 1, "source_subjects": None},
    **{"released_rows": 1, "suppressed_rows": 0, "classes": 1, "smallest_class": 1},
    **{"verified": True, "warnings": []},
}


@pytest.fixture
def large(tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec over 1.19 million records with an earlier release in place."""
    monkeypatch.chdir(tmp_path)
    about = json.loads((shared / "data/synth/ihis_like.json").read_text())
    folder = shared / "data/hierarchies/ihis_int"
    spec = {
        "release": "ihis",
        "source": str(shared / "data/synth/ihis_like.parquet"),
        "target": "ihis.duckdb",
        "columns": {
            name: {"role": "quasi_identifier", "hierarchy": str(folder / file)}
            for name, file in zip(about["qis"], about["hierarchies"], strict=True)
        },
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "method": {"name": "full_domain", "suppression_limit": 0.05},
        "output": {"export": ["ihis.csv"]},
    }
    (tmp_path / "ihis.yml").write_text(json.dumps(spec))
    for name in ("ihis.duckdb", "ihis.private.duckdb"):
        with duckdb.connect(name) as con:
            con.execute("CREATE TABLE earlier AS SELECT 1 AS a")
    with duckdb.connect("ihis.private.duckdb") as con:
        con.execute(
            """CREATE SCHEMA deid; CREATE TABLE deid.releases AS SELECT 'ihis' AS release,
            'ihis.duckdb' AS object, 'file' AS kind, []::VARCHAR[] AS exports, '' AS spec,
            '' AS spec_hash, '{}' AS transformation, '{}' AS metrics, ? AS record,
            '0' AS version, now()::TIMESTAMP AS created""",
            [json.dumps(EARLIER)],
        )
        con.execute(
            """CREATE TABLE deid.files AS SELECT 'ihis' AS release, 'ihis.duckdb' AS path,
            ? AS sha256, 'renamed' AS unfinished""",
            [hashlib.sha256(Path("ihis.duckdb").read_bytes()).hexdigest()],
        )
    return tmp_path


@pytest.mark.sampled(3)  # interrupts of searches have a file, those of writing `faults`
@pytest.mark.parametrize("phase", ["prepare", "search", "write"])
def test_an_interrupt_ends_quickly_and_changes_nothing(large: Path, phase: str) -> None:
    before = prints()
    run = subprocess.Popen(
        [sys.executable, "-m", "dbdeid", "run", "ihis.yml", "-vv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A job in the background of a shell inherits a deaf ear.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert run.stderr is not None
    ended = {"search": "prepare:", "write": "search:"}.get(phase, "deid_source")
    for line in run.stderr:  # the log says where the run is
        if ended in line:
            break
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=10)
    assert (run.returncode, out) == (130, "")
    assert err.endswith("interrupted\n")
    assert prints() == before


def on_terminal(*words: str) -> str:
    """What a command writes on standard error when that is a terminal."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(
        [sys.executable, "-m", "dbdeid", *words], stdout=subprocess.PIPE, stderr=theirs, env=env
    ) as run:
        os.close(theirs)
        said = b""
        while run.poll() is None or select.select([ours], [], [], 0)[0]:
            if select.select([ours], [], [], 0.05)[0]:
                try:
                    said += os.read(ours, 65536)
                except OSError:
                    break
    os.close(ours)
    return said.decode()


@pytest.mark.full
def test_progress_is_for_terminals(place: Path) -> None:
    write("c", database="owner.duckdb", target="c.duckdb")
    assert "publish" in on_terminal("run", "c.yml")
    assert on_terminal("run", "c.yml", "--quiet") == ""
    assert call("run", "c.yml").stderr == ""
    assert "search: " in process("run", "c.yml", "-v").stderr


# -- sql ---------------------------------------------------------------------------------------


def test_sql_runs_scripts_from_anywhere(place: Path) -> None:
    script = "CREATE TABLE t AS SELECT 1 AS a; INSERT INTO t VALUES (NULL); FROM t; SELECT 2 AS b;"
    Path("script.sql").write_text(script)
    rows = [
        {"columns": ["a"], "rows": [{"a": 1}, {"a": None}]},
        {"columns": ["b"], "rows": [{"b": 2}]},
    ]
    assert document("sql", ":memory:", "-c", script) == rows
    assert document("sql", ":memory:", "script.sql") == rows
    assert json.loads(process("sql", ":memory:", "--json", stdin=script).stdout) == rows
    assert call("sql", ":memory:", "-c", script).stdout.split() == ["a", "1", "NULL", "b", "2"]


def test_json_of_sql_has_no_numbers_that_json_lacks(place: Path) -> None:
    script = (
        "CREATE TABLE t AS SELECT 1 AS a; CREATE TABLE u AS SELECT 2 AS a;"
        "FROM deid.kl('t', 'u', ['a']); SELECT [CAST('nan' AS DOUBLE), 0.5::DOUBLE] AS x"
    )
    shown = call("sql", ":memory:", "--json", "-c", script).stdout
    assert "Infinity" not in shown
    assert json.loads(shown) == [
        {
            "columns": ["kl", "combinations", "missing"],
            "rows": [{"kl": None, "combinations": 1, "missing": 1}],
        },
        {"columns": ["x"], "rows": [{"x": [None, 0.5]}]},
    ]


def test_sql_makes_no_database_unless_it_is_asked_to(place: Path) -> None:
    there = prints()
    typo = call("sql", "onwer.duckdb", "-c", "SELECT 1")
    assert typo.returncode == 2
    assert typo.stderr == (
        "error: onwer.duckdb: no such database file\n"
        "  Hint: did you mean owner.duckdb? A new one is made with --create\n"
    )
    assert "check the path" in call("sql", "no/such.db", "-c", "SELECT 1").stderr
    assert prints() == there
    script = "CREATE TABLE t AS SELECT 1 AS a; FROM t"
    (made,) = document("sql", "new.duckdb", "--create", "-c", script)
    assert made["rows"] == [{"a": 1}]
    assert document("sql", "new.duckdb", "-c", "FROM t") == [made]


@pytest.mark.full
def test_sql_has_macros_and_functions_and_runs_releases(place: Path) -> None:
    (risk,) = document("sql", "owner.duckdb", "-c", "FROM deid.risk('people', ['sex'])")
    assert risk["rows"][0]["records"] == 200
    (made,) = document("sql", "owner.duckdb", "-c", "SELECT deid_run('a.yml') AS made")
    assert json.loads(made["rows"][0]["made"])["verified"]
    assert Path("a.duckdb").exists()


def test_sql_errors_name_no_cell_and_earlier_results_are_printed(place: Path) -> None:
    done = call("sql", "owner.duckdb", "-c", "SELECT 7 AS n; SELECT name::INTEGER FROM people")
    assert done.returncode == 2
    assert done.stdout.split() == ["n", "7"]
    assert "person" not in done.stderr
    assert call("sql", "owner.duckdb", "-c", "SELEC 1").returncode == 2
    told = call("sql", "owner.duckdb", "-c", "SELECT deid_run('nope.yml')")
    assert told.returncode == 2
    assert "nope.yml" in told.stderr


@pytest.mark.full
def test_sql_reads_a_published_release_and_changes_no_byte(released: Path) -> None:
    files = some(("a.duckdb", "export.duckdb"), 2)
    for export in files[1:]:
        assert call("export", "a.yml", export).returncode == 0
    before = prints()
    for file in files:
        reads_only(file)
        assert prints() == before
    assert call("verify", "a.yml").returncode == 0
    assert call("run", "a.yml").returncode == 0


def reads_only(file: str) -> None:
    script = "SELECT deid.k('a', ['sex']) AS k, deid_overlap('[0, 10)', 0, 5) AS share"
    (found,) = document("sql", file, "-c", script)
    assert found["rows"] == [{"k": 15, "share": 0.5}]
    (own,) = document("sql", file, "-c", "CREATE TEMP TABLE t AS SELECT count(*) n FROM a; FROM t")
    assert own["rows"] == [{"n": 196}]
    for change in ("CREATE TABLE t AS FROM a", "DELETE FROM a", "COMMENT ON TABLE a IS 'seen'"):
        done = call("sql", file, "-c", f"{change}; SELECT 1")
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{file}: a published release is not changed\n  Hint: make a TEMP" in done.stderr
    kept = call("sql", file, "-c", "FROM deid.loss('a', ['sex'])")
    assert kept.returncode == 2
    assert "a release has no deid.hierarchies" in kept.stderr


def test_macros_are_not_installed_in_a_published_release(released: Path) -> None:
    before = prints()
    done = process("macros", "install", "a.duckdb")
    assert (done.returncode, done.stdout) == (2, "")
    assert "a published release is not changed" in done.stderr
    assert "attach it to a database of your own" in done.stderr
    assert prints() == before
    script = "ATTACH 'a.duckdb' AS given; SELECT deid.k('given.main.a', ['sex']) AS k"  # as told
    assert document("sql", "owner.duckdb", "-c", script)[0]["rows"] == [{"k": 15}]
    assert prints()["a.duckdb"] == before["a.duckdb"]


def test_an_owners_database_gets_its_macros(place: Path) -> None:
    for words in (("sql", "owner.duckdb", "-c", "SELECT 1"), ("macros", "install", "owner.duckdb")):
        for _ in range(2):  # the second time over those of the first
            assert call(*words).returncode == 0
    assert call("run", "b.yml").returncode == 0
    script = "CREATE TABLE kept AS SELECT DISTINCT hierarchy FROM deid.hierarchies; FROM kept"
    (kept,) = document("sql", "owner.duckdb", "-c", script)
    assert {"hierarchy": "age"} in kept["rows"]


# -- help --------------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("command", ["run", "verify", "risk", "sql"])
def test_help_shows_an_example(command: str) -> None:
    said = process(command, "--help").stdout
    assert f"\n  dbdeid {command} " in said
    assert "--json" in said


def test_help_says_what_arguments_are() -> None:
    assert "A file, folder or database." in process("init", "--help").stdout


def test_an_interrupt_in_a_callback_that_may_not_raise_is_not_lost() -> None:
    class Dying:
        pass

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    def work() -> None:
        gone = Dying()
        watched = weakref.ref(gone, interrupted)
        del gone
        assert watched() is None
        time.sleep(5)

    # a job in the background of a shell inherits a deaf ear
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with interruptible(), pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_that_comes_again_too_early_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = []

    class Timer:
        def __init__(self, seconds: float, *_: Any) -> None:
            waits.append(seconds)

        def start(self) -> None:
            if len(waits) < 3:
                raise KeyboardInterrupt

    monkeypatch.setattr(commands.threading, "Timer", Timer)
    hook = commands._interrupt_again(lambda _: None)
    hook(SimpleNamespace(exc_type=KeyboardInterrupt))
    assert waits == [0.01, 0.02, 0.04]


def test_whatever_fails_after_an_interrupt_is_an_interrupt() -> None:
    def extension() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ValueError("Python exception occurred") from None

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), interruptible():
            extension()
        with pytest.raises(ValueError, match="not of it"), interruptible():
            raise ValueError("not of it")
    finally:
        signal.signal(signal.SIGINT, before)


def test_help_lists_every_command_once_in_whole_sentences(place: Path) -> None:
    from dbdeid.cli.overview import GROUPS

    listed = [name for names in GROUPS.values() for name in names]
    commands = typer.main.get_command(app).commands.items()  # type: ignore[attr-defined]
    assert sorted(listed) == sorted(name for name, command in commands if not command.hidden)
    said = call("-h").stdout
    assert said == call("--help").stdout
    assert "..." not in said.replace("[ARGS]...", "")
    assert "Others" not in said
