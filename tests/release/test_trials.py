"""Trials and withdrawn runs: remembered, never compared with, never given away."""

from __future__ import annotations

import html
import json
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
import zoo
from patients import EVERYTHING, fill, spec
from typer.testing import CliRunner

import dbdeid
from dbdeid.cli.app import app
from dbdeid.cli.text.release.verdict import released

PATIENTS = [(i, i * 5 % EVERYTHING, i * 3 % EVERYTHING, "flu") for i in range(64)]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zoo.fill(hospital)
    write("out")
    return tmp_path


def hospital() -> None:
    with duckdb.connect("hospital.duckdb") as con:
        fill(con, PATIENTS)


def write(name: str, levels: tuple[int, int] = (2, 2), **more: Any) -> dict[str, Any]:
    """A spec of the patients in a file of that name."""
    given = {"database": "hospital.duckdb", "target": f"{name}.duckdb"}
    found = spec(levels, k=5, **{**given, **more})
    Path(f"{name}.yml").write_text(json.dumps(found))
    return found


def call(*words: str, code: int = 0) -> Any:
    """The command in this process: what it prints, read where it is JSON, or its errors."""
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    if code:
        return done.stderr
    return json.loads(done.stdout) if "--json" in words else done.stdout


def add(number: int) -> None:
    with duckdb.connect("hospital.duckdb") as con:
        fill(con, [*PATIENTS, *((1000 + i, i % 3, i % 2, "asthma") for i in range(number))])


# -- trials --------------------------------------------------------------------------------------


def test_a_trial_says_so_first_wherever_it_is_told() -> None:
    result = zoo.run("out.yml", trial=True)
    assert result.trial
    assert result.verified
    assert result.to_dict()["trial"] is True
    assert "trial: not for publication" in result._repr_html_()
    assert released(result).startswith("trial: not for publication.")
    if tiers.full:
        assert call("run", "out.yml", "--trial").startswith("trial: not for publication.")
    page = Path(call("report", "out.yml", "--trial", "--json")["report"])
    assert page.name == "patients_public_internal_report.trial.html"
    assert page.read_text().index("trial: not for publication") < page.read_text().index("✓")
    manifest = json.loads(page.with_suffix(".json").read_text())
    assert list(manifest)[:3] == ["schema", "audience", "trial"]


def test_nothing_is_kept_of_a_trial_to_compare_later_runs_with() -> None:
    trials = (zoo.run, dbdeid.run) if tiers.full else (zoo.run,)
    for run in trials:
        assert run("out.yml", trial=True).rerelease == ()
    add(3)
    write("out", rerelease="strict")
    result = dbdeid.run("out.yml")  # the first release, whatever was tried before
    assert result.rerelease == ()
    assert not any("beside" in w for w in result.warnings)
    for name, published, runs in (("out", 1, 1), ("out.trial", 0, len(trials))):
        with duckdb.connect(f"{name}.private.duckdb", read_only=True) as con:
            kept = con.execute("SELECT count(DISTINCT run) FROM deid.published").fetchone()
            assert kept == (published,)
            assert con.execute("SELECT count(*) FROM deid.releases").fetchone() == (runs,)


@pytest.mark.full
def test_a_trial_is_held_against_what_was_published_before_it() -> None:
    zoo.run("out.yml")
    add(3)
    tried = dbdeid.run("out.yml", trial=True)
    assert [found["appeared"]["people"] for found in tried.rerelease] == [3]
    again = dbdeid.run("out.yml")
    assert [found["appeared"]["people"] for found in again.rerelease] == [3]


def test_a_trial_is_neither_exported_nor_reported_to_the_public() -> None:
    zoo.run("out.yml", trial=True)
    for words in (
        ("export", "out.yml", "given.csv"),
        ("report", "out.yml", "--audience", "public"),
    ):
        told = call(*words, code=2)
        assert "there is only a trial of it" in told
        assert "without --trial" in told
    told = call("report", "out.yml", "--trial", "--audience", "public", code=2)
    assert "was a trial" in told
    assert "without --trial" in told
    assert not list(Path().glob("given*"))
    assert not list(Path().glob("*public_report*"))


def snapshot(folder: str = ".") -> dict[str, bytes]:
    """The files of a folder but for those of trials."""
    files = (p for p in Path(folder).rglob("*") if p.is_file() and ".trial." not in p.name)
    return {str(path): path.read_bytes() for path in files}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["target", "database", "file"])
def test_a_trial_leaves_everything_that_is_published_as_it_was(kind: str) -> None:
    exports: Any = {"output": {"export": ["out.csv"]}}
    if kind == "file":
        with duckdb.connect("hospital.duckdb") as con:
            con.execute("COPY patients TO 'patients.csv'")
        exports |= {"source": "patients.csv"}

    def written(levels: tuple[int, int]) -> None:
        found = write("out", levels, **exports)
        for key in {"target": (), "database": ("target",), "file": ("target", "database")}[kind]:
            del found[key]
        Path("out.yml").write_text(json.dumps(found))

    written((2, 2))
    call("run", "out.yml")
    page = Path("patients_public_internal_report.html")
    if kind != "file":
        call("report", "out.yml")
    before = snapshot()
    written((3, 1))
    result = dbdeid.run("out.yml", trial=True)
    assert Path(result.table).name.endswith(".trial.duckdb")
    assert sorted(result.to_df()) == ["age", "illness", "zip"]
    told = call("verify", "out.yml", "--trial", "--json", code=2)
    assert "do not give it away" in told
    assert "--trial" in told
    call("report", "out.yml", "--trial")
    assert call("query", "out.yml", "SELECT count(*) AS n FROM patients", "--trial", "--json")
    assert call("evaluate", "out.yml", "--trial", "--json")
    written((2, 2))
    assert {**snapshot(), "out.yml": b""} == {**before, "out.yml": b""}
    if kind != "file":  # of which nothing is remembered
        assert page.exists()
        assert "not for publication" not in call("verify", "out.yml")
        assert states() == ["trial", "published"]
        call("export", "out.yml", "given.csv")
        call("report", "out.yml", "--audience", "public")


@pytest.mark.full
def test_verify_says_that_a_trial_or_a_withdrawn_run_is_not_for_publication() -> None:
    assert zoo.run("out.yml").verified
    if tiers.full:
        assert dbdeid.verify("out.yml").unpublishable is None
        dbdeid.run("out.yml", trial=True)
    dbdeid.withdraw("patients_public", "a rehearsal", "out.yml")
    for words, state in tiers.some((((), "withdrawn"), (("--trial",), "trial")), 2):
        done = CliRunner().invoke(app, ["verify", "out.yml", *words])
        assert done.exit_code == 2
        assert done.stdout.startswith("not for publication: the last run of release")
        assert "promises verified" in done.stdout
        assert "do not give it away" in done.stderr
        assert ("--trial" in done.stderr) == (state == "trial")
        found = dbdeid.verify("out.yml", trial=bool(words))
        assert found.verified
        assert found.to_dict()["unpublishable"]["state"] == state
        assert "not for publication" in found._repr_html_()
    told = CliRunner().invoke(app, ["test", "out.yml", "--json"])
    assert told.exit_code == 2
    assert "was withdrawn" in json.loads(told.stdout)["results"][0]["message"]
    with duckdb.connect("out.duckdb") as con:
        con.execute("UPDATE patients_public SET age = '0' WHERE rowid = 0")
    assert "do not give this away" in call("verify", "out.yml", code=4)


@pytest.mark.full
def test_what_is_told_inside_of_a_withdrawn_run_says_so_first() -> None:
    zoo.run("out.yml")
    found = call("evaluate", "out.yml", "--json")
    assert found["unpublishable"] is None
    call("report", "out.yml", "-o", "page.html")
    assert "no longer stands" not in Path("page.html").read_text()
    assert "trial" not in json.loads(Path("page.json").read_text())
    dbdeid.withdraw("patients_public", "a rehearsal", "out.yml")
    told = "was withdrawn ('a rehearsal')"
    assert call("evaluate", "out.yml").startswith("not for publication: ")
    assert told in call("evaluate", "out.yml", "--json")["unpublishable"]["message"]
    call("report", "out.yml", "-o", "page.html")
    page = html.unescape(Path("page.html").read_text())
    assert "no longer stands" in page
    assert told in page
    assert told in json.loads(Path("page.json").read_text())["objections"][0]


@pytest.mark.full
def test_an_internal_report_says_when_its_promises_were_verified_and_what_no_longer_holds() -> None:
    result = zoo.run("out.yml")
    call("report", "out.yml", "-o", "page.html")
    page = Path("page.html").read_text()
    assert f">{result.record.created[:16].replace('T', ' ')} UTC<" in page
    with duckdb.connect("out.duckdb") as con:
        con.execute("UPDATE patients_public SET illness = 'asthma' WHERE rowid = 3")
    call("report", "out.yml", "-o", "page.html")
    page = Path("page.html").read_text()
    assert "no longer stands" in page
    assert "it does not verify now: " in page
    Path("out.duckdb").unlink()
    call("report", "out.yml", "-o", "page.html")
    assert "it cannot be verified now: " in Path("page.html").read_text()


@pytest.mark.full
def test_a_withdrawn_run_is_not_exported_and_nothing_is_said_of_trials() -> None:
    zoo.run("out.yml")
    dbdeid.withdraw("patients_public", "a rehearsal", "out.yml")
    for words in (
        ("export", "out.yml", "given.csv"),
        ("export", "out.yml", "given"),
        ("report", "out.yml", "--audience", "public"),
    ):
        told = call(*words, code=2)
        assert "was withdrawn" in told
        assert "--trial" not in told


@pytest.mark.full
def test_levels_that_were_published_are_tried_again() -> None:
    with pytest.raises(dbdeid.DataError, match="nothing to reuse"):
        dbdeid.run("out.yml", reuse=True, trial=True)
    first = dbdeid.run("out.yml")
    dbdeid.run("out.yml", trial=True)
    assert dbdeid.run("out.yml", reuse=True, trial=True).transformation == first.transformation


def test_what_has_no_trial_is_said() -> None:
    assert "was never run here" in call("verify", "out.yml", code=2)
    zoo.run("out.yml")
    for words in (("verify",), ("report",), ("evaluate",)):
        assert "no trial of release" in call(*words, "out.yml", "--trial", code=2)
    assert "--trial goes with a spec" in call(
        "verify", "out.duckdb", "--trial", "--qi", "age", "--k", "5", code=2
    )
    write("view", output={"as": "view"}, target=None)
    Path("view.yml").write_text(
        json.dumps({k: v for k, v in json.loads(Path("view.yml").read_text()).items() if v})
    )
    assert "is to look at already" in call("run", "view.yml", "--trial", code=2)


def test_no_release_takes_the_name_of_a_trial() -> None:
    write("out", target="out.trial.duckdb")
    assert "has the name of a trial" in call("run", "out.yml", code=2)


def test_strict_releases_need_something_that_remembers() -> None:
    """Files of a release alone are forgotten when they are written."""
    with duckdb.connect("hospital.duckdb") as con:
        con.execute("COPY patients TO 'patients.csv'")
    alone = {"output": {"export": ["out.csv"]}, "source": "patients.csv", "rerelease": "strict"}
    found = write("out", **alone)
    del found["target"], found["database"]
    Path("out.yml").write_text(json.dumps(found))
    for verb in ("check", "run"):
        told = call(verb, "out.yml", code=2)
        assert "nothing remembers what was released" in told
        assert "rerelease" in told
        assert "target: " in told
    with duckdb.connect() as con, pytest.raises(dbdeid.SpecError, match="nothing remembers"):
        dbdeid.run(found, con)
    assert not Path("out.csv").exists()
    write("out", **alone)
    call("run", "out.yml")
    Path("out.yml").write_text(json.dumps({**found, "rerelease": "warn"}))
    Path("out.csv").unlink()
    Path("out_dictionary.csv").unlink()
    assert "nothing remembers this release" in call("run", "out.yml")


@pytest.mark.full
def test_a_trial_does_not_change_how_counterfeits_are_drawn() -> None:
    """Records that differ between two publications are told as counterfeit."""
    draw = random.Random(15)
    with duckdb.connect("hospital.duckdb") as con:
        fill(con, [(i, draw.randrange(8), draw.randrange(8), "flu") for i in range(120)])
    method = {"name": "counterfeit", "h": 0.6, "max_counterfeits": 0.5}
    write("out", method=method)
    first = dbdeid.run("out.yml")
    assert first.counterfeit_rows > 0
    write("out")
    dbdeid.run("out.yml", trial=True)  # by a method that draws nothing
    write("out", method=method)
    (found,) = dbdeid.run("out.yml").rerelease
    assert (found["exposed"], found["counterfeits"]) == (0, first.counterfeit_rows)


@pytest.mark.full
def test_trials_of_a_project_stay_out_of_its_public_site(tmp_path: Path) -> None:
    home = tmp_path / "project"
    (home / "releases").mkdir(parents=True)
    (home / "dbdeid.yml").write_text("database: ../hospital.duckdb\ntarget: out/{release}.duckdb\n")
    for name in ("a", "b"):
        (home / "releases" / f"{name}.yml").write_text(json.dumps(spec((2, 2), k=5, release=name)))
    ended = call("run", "--project", "project", "--json")
    assert [result["trial"] for result in ended["results"]] == [False, False]
    line = call("run", "--project", "project", "--trial", "--select", "a")
    assert "a  trial, not for publication: " in line
    assert "results in project/results/trial_results.json" in line
    assert {p.name for p in (home / "out").iterdir()} == {"a.duckdb", "b.duckdb"}
    assert (home / "private" / "a.trial.duckdb").exists()
    (home / "releases" / "c.yml").write_text(json.dumps(spec((2, 2), k=5, release="c")))
    call("run", "--project", "project", "--trial", "--select", "c")
    public = Path(call("docs", "--project", "project", "--audience", "public", "--json")["site"])
    assert {p.name for p in public.parent.glob("*.html")} == {"index.html", "a.html", "b.html"}
    assert "c.html" not in public.read_text()
    assert states("project") == ["trial", "trial", "published", "published"]
    failed = call("test", "--project", "project", code=2)
    assert "there is only a trial of it" in failed


# -- what is remembered, and withdrawn ------------------------------------------------------------


def states(where: str = "out.yml") -> list[str]:
    return [run["state"] for run in call("releases", where, "--json")]


@pytest.mark.full
def test_every_run_is_listed_with_what_it_counts_as() -> None:
    assert call("releases", "out.yml") == "no releases yet\n"
    write("out", output={"export": ["out.csv"]})
    dbdeid.run("out.yml", trial=True)
    dbdeid.run("out.yml")
    last, first = call("releases", "out.yml", "--json")
    assert (last["state"], first["state"]) == ("published", "trial")
    assert (last["source"], last["k"]) == ("patients", dbdeid.run("out.yml").smallest_class)
    assert last["exports"] == ["out.csv", "out_dictionary.csv"]
    assert last["run"] != first["run"]
    assert states(".") == ["published", "published", "trial"]
    assert states("out.duckdb") == ["published", "published", "trial"]
    assert states("out.private.duckdb") == ["published", "published"]
    assert states("out.trial.private.duckdb") == ["trial"]
    assert [run.entry.run for run in dbdeid.releases("out.yml")][1:] == [last["run"], first["run"]]
    assert call("list", "out.duckdb", "--json") == call("releases", "out.duckdb", "--json")
    Path("empty").mkdir()
    with pytest.raises(dbdeid.DataError, match="no private file"):
        dbdeid.releases("empty")


def test_a_withdrawn_run_is_compared_no_more_and_stays_in_the_book() -> None:
    zoo.run("out.yml")
    assert len(dbdeid.check("out.yml")["earlier"]) == 1
    before = Path("out.duckdb").read_bytes()
    told = call("releases", "withdraw", "PATIENTS_PUBLIC", "--reason", " a rehearsal ")
    assert "cannot take back a file that somebody has" in told
    (run,) = call("releases", "out.yml", "--json")
    assert (run["state"], run["reason"]) == ("withdrawn", "a rehearsal")
    assert run["withdrawn_by"]
    assert run["withdrawn"] >= run["created"]
    assert "a rehearsal" in call("releases", "out.yml")
    assert Path("out.duckdb").read_bytes() == before
    assert "was withdrawn" in call("export", "out.yml", "given.csv", code=2)
    assert "was withdrawn" in call("report", "out.yml", "--audience", "public", code=2)
    add(3)
    assert dbdeid.check("out.yml")["earlier"] == []
    write("out", rerelease="strict")
    assert dbdeid.run("out.yml").rerelease == ()
    assert states() == ["published", "withdrawn"]


@pytest.mark.full
def test_runs_that_show_the_same_are_withdrawn_one_by_one() -> None:
    """Both are kept under one number, and the earlier one left the house."""
    zoo.run("out.yml")
    dbdeid.run("out.yml")
    dbdeid.withdraw("patients_public", "never sent", "out.yml")
    add(3)
    assert [found["appeared"]["people"] for found in dbdeid.run("out.yml").rerelease] == [3]
    assert states() == ["published", "withdrawn", "published"]


@pytest.mark.full
def test_which_run_is_withdrawn_can_be_said() -> None:
    for levels in ((2, 2), (3, 1), (1, 3)):
        write("out", levels)
        dbdeid.run("out.yml")
    _, middle, _ = dbdeid.releases("out.yml")
    dbdeid.withdraw("patients_public", "never sent", "out.yml", run=middle.entry.run[:6])
    assert states() == ["published", "withdrawn", "published"]
    call("releases", "withdraw", "patients_public", "--reason", "none was sent", "--all")
    assert states() == ["withdrawn"] * 3


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("patients_public", "--reason", " "), "needs a reason"),
        (("patients_pubic", "--reason", "x"), "did you mean 'patients_public'?"),
        (("patients_public", "--reason", "x", "--run", "zz"), "begins with 'zz'"),
        (("patients_public", "--reason", "x", "--run", "a", "--all"), "not both"),
        (("patients_public",), "--reason"),
    ],
)
def test_what_cannot_be_withdrawn_is_said(words: tuple[str, ...], said: str) -> None:
    zoo.run("out.yml")
    assert said in call("releases", "withdraw", *words, code=2)
    assert states() == ["published"]


def test_only_what_counts_as_published_is_withdrawn() -> None:
    zoo.run("out.yml", trial=True)
    with pytest.raises(dbdeid.DataError, match="counts as published"):
        dbdeid.withdraw("patients_public", "x", "out.yml")
    (run,) = dbdeid.releases("out.yml")
    with pytest.raises(dbdeid.DataError, match="is a trial"):
        dbdeid.withdraw("patients_public", "x", "out.yml", run=run.entry.run)


@pytest.mark.full
def test_a_run_inside_the_database_is_withdrawn_there() -> None:
    inside = write("inside", target=None)
    del inside["target"]
    Path("inside.yml").write_text(json.dumps(inside))
    dbdeid.run("inside.yml")
    dbdeid.withdraw("patients_public", "never sent", "hospital.duckdb")
    assert states("inside.yml") == states("hospital.duckdb") == ["withdrawn"]


@pytest.mark.full
def test_a_book_of_an_earlier_version_gets_its_marks() -> None:
    zoo.run("out.yml")
    with duckdb.connect("out.private.duckdb") as con:
        con.execute("DROP TABLE deid.withdrawals")
    assert states() == ["published"]
    dbdeid.withdraw("patients_public", "never sent", "out.yml")
    assert states() == ["withdrawn"]
    assert Path("out.private.duckdb").stat().st_mode & 0o077 == 0
