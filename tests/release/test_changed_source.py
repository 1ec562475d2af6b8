"""Verifying a release whose source has changed since: no promise is called broken for that."""

from __future__ import annotations

import json
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

PATIENTS = [(i, i * 5 % EVERYTHING, i * 3 % EVERYTHING, "flu") for i in range(64)]
NEW = [(1000 + i, i % 3, i % 2, "asthma") for i in range(30)]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zoo.fill(hospital)
    return tmp_path


def hospital() -> None:
    patients(PATIENTS)
    made()


def patients(rows: list[tuple[int, int, int, str]]) -> None:
    with duckdb.connect("hospital.duckdb") as con:
        fill(con, rows)


def made(target: str | None = "out.duckdb", **more: Any) -> None:
    """A release of the patients as they are."""
    given = {"database": "hospital.duckdb", **({"target": target} if target else {}), **more}
    Path("out.yml").write_text(json.dumps(spec((2, 2), k=5, **given)))
    dbdeid.run("out.yml")


def verified(code: int, *words: str) -> Any:
    done = CliRunner().invoke(app, ["verify", "out.yml", *words])
    assert done.exit_code == code, done.output
    return json.loads(done.stdout) if words else (done.stdout, done.stderr)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([*PATIENTS, *NEW], "30 more rows than"),
        (PATIENTS[:-1], "1 fewer row than"),
        ([(*row[:2], 7 - row[2], row[3]) for row in PATIENTS], "other values than"),
    ],
    ids=["more", "fewer", "others"],
)
def test_a_changed_source_is_told_first_and_breaks_no_promise(
    rows: list[tuple[int, int, int, str]], said: str
) -> None:
    patients(rows)
    told, error = verified(2)
    assert told.startswith("the source has ")
    assert said in told.splitlines()[0]
    assert "FAIL" not in told
    assert "not compared with the source: " in told
    assert "truthfulness" in told
    assert "k_anonymity" in told
    assert said in error
    assert "run it again: dbdeid run out.yml" in error


@pytest.mark.full
def test_the_document_says_what_was_not_compared() -> None:
    assert verified(0, "--json")["source_changed"] is None
    patients([*PATIENTS, *NEW])
    found = verified(2, "--json")
    assert found["verified"]
    changed = found["source_changed"]
    assert (changed["rows_then"], changed["rows_now"]) == (64, 94)
    assert "truthfulness" in changed["not_compared"]
    assert not {p["model"] for p in found["promises"]} & set(changed["not_compared"])
    assert "30 more rows" in dbdeid.verify("out.yml")._repr_html_()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["out.duckdb", None])
def test_a_broken_promise_is_one_whatever_became_of_the_source(target: str | None) -> None:
    if target is None:
        for path in Path().glob("out*duckdb"):
            path.unlink()
        made(target)
    patients([*PATIENTS, *NEW])
    with duckdb.connect(target or "hospital.duckdb") as con:
        con.execute("UPDATE patients_public SET illness = 'asthma' WHERE rowid = 3")
    told, error = verified(4)
    assert told.startswith("the source has 30 more rows")
    assert "FAIL  content" in told
    assert "verification failed" in error


@pytest.mark.full
def test_a_changed_cell_of_the_release_is_not_taken_for_a_changed_source() -> None:
    with duckdb.connect("out.duckdb") as con:
        con.execute("UPDATE patients_public SET illness = 'asthma' WHERE rowid = 3")
    told, _ = verified(4)
    assert "the source has" not in told
    assert "FAIL  truthfulness" in told


@pytest.mark.full
def test_hashes_of_another_engine_tell_nothing_of_a_source() -> None:
    """After an upgrade a source of as many rows is compared as ever."""
    with duckdb.connect("out.private.duckdb") as con:
        (text,) = con.execute("SELECT record FROM deid.releases").fetchone() or ("",)
        record = json.loads(text)
        record["engine"] = "v0.1.0"
        record["fingerprints"]["source"] = "64 rows, 123abc"
        con.execute("UPDATE deid.releases SET record = ?", [json.dumps(record)])
    assert verified(0, "--json")["source_changed"] is None
    patients([(*row[:2], 7 - row[2], row[3]) for row in PATIENTS])
    assert "FAIL  truthfulness" in verified(4)[0]


@pytest.mark.full
def test_a_project_tells_of_it_and_ends_with_2(tmp_path: Path) -> None:
    home = tmp_path / "project"
    (home / "releases").mkdir(parents=True)
    (home / "dbdeid.yml").write_text("database: ../hospital.duckdb\ntarget: out/{release}.duckdb\n")
    (home / "releases" / "a.yml").write_text(json.dumps(spec((2, 2), k=5, release="a")))
    project = dbdeid.project(home)
    assert project.run().exit_code == 0
    assert not tiers.full or project.test().exit_code == 0
    patients([*PATIENTS, *NEW])
    found = project.test()
    assert found.exit_code == 2
    (result,) = found.to_dict()["results"]
    assert result["message"].startswith("the source has 30 more rows than when")
    assert result["verified"]
    assert result["failed"] == []
