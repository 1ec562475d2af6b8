"""A folder that may be given away: exactly what may leave, or nothing at all."""

from __future__ import annotations

import hashlib
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
from dbdeid.workspace import report_files

PATIENTS = [(i, i * 5 % EVERYTHING, i * 3 % EVERYTHING, "flu") for i in range(64)]
PAGES = {"patients_public_public_report.html", "patients_public_public_report.json"}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zoo.fill(hospital)
    return tmp_path


def hospital() -> None:
    with duckdb.connect("hospital.duckdb") as con:
        fill(con, PATIENTS)


def write(**more: Any) -> None:
    Path("out.yml").write_text(json.dumps(spec((2, 2), k=5, database="hospital.duckdb", **more)))


def exported(folder: str, code: int = 0) -> Any:
    done = CliRunner().invoke(app, ["export", "out.yml", folder, "--json"])
    assert done.exit_code == code, done.output
    return json.loads(done.stdout) if not code else done.stderr


def names(folder: str) -> set[str]:
    return {path.name for path in Path(folder).rglob("*")}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("more", "files"),
    [
        ({"target": "out.duckdb"}, {"out.duckdb"}),
        (
            {"target": "out.duckdb", "output": {"export": ["out.csv", "out.parquet"]}},
            {
                *("out.duckdb", "out.csv", "out_dictionary.csv"),
                *("out.parquet", "out_dictionary.parquet"),
            },
        ),
        ({"output": {"export": ["out.csv"]}}, {"out.csv", "out_dictionary.csv"}),
        ({}, {"patients_public.duckdb"}),
    ],
    ids=["target", "target and exports", "exports", "inside"],
)
def test_it_holds_what_was_declared_and_the_public_report(
    more: dict[str, Any], files: set[str]
) -> None:
    write(**more)
    zoo.run("out.yml")
    given = exported("given/")
    assert names("given") == {*files, *PAGES} == {file["name"] for file in given["files"]}
    assert "Public:" in Path("given/patients_public_public_report.html").read_text()
    before = {name: Path("given", name).read_bytes() for name in names("given")}
    assert "not empty" in exported("given", code=2)
    assert {name: Path("given", name).read_bytes() for name in names("given")} == before


def test_what_nobody_is_to_have_is_refused_and_leaves_no_folder() -> None:
    write(target="out.duckdb")
    zoo.run("out.yml", trial=True)
    assert "there is only a trial of it" in exported("given", code=2)
    dbdeid.run("out.yml")
    with duckdb.connect("out.duckdb") as con:
        con.execute("UPDATE patients_public SET illness = 'asthma' WHERE rowid = 3")
    assert "does not verify now" in exported("given", code=4)
    dbdeid.withdraw("patients_public", "never sent", "out.yml")
    assert "was withdrawn" in exported("given", code=2)
    assert not Path("given").exists()


def test_a_public_report_says_verified_only_of_what_verifies_now() -> None:
    exports = tiers.some(["out.csv", "out.parquet"], 2)
    write(output={"export": exports})
    zoo.run("out.yml")
    asked = ["report", "out.yml", "--audience", "public", "-o", "page.html"]
    assert CliRunner().invoke(app, asked).exit_code == 0
    Path("page.html").unlink()
    Path("page.json").unlink()
    export = Path("out.csv").read_bytes()
    Path("out.csv").unlink()
    assert CliRunner().invoke(app, asked).exit_code == 2
    Path("out.csv").write_bytes(export)
    with duckdb.connect("hospital.duckdb") as con:
        con.execute("UPDATE patients_public SET illness = 'asthma' WHERE rowid = 3")
    refused = CliRunner().invoke(app, asked)
    assert refused.exit_code == 4
    assert "no public report of it: " in refused.stderr
    assert not {"page.html", "page.json"} & names(".")


@pytest.mark.full
def test_a_release_whose_source_has_changed_is_exported_as_it_was() -> None:
    write(target="out.duckdb")
    zoo.run("out.yml")
    with duckdb.connect("hospital.duckdb") as con:
        fill(con, [*PATIENTS, (1000, 1, 1, "flu")])
    Path("given").mkdir()  # an empty folder is as good as none
    told = exported("given")
    assert {file["name"] for file in told["files"]} == names("given") == {"out.duckdb", *PAGES}
    assert told["note"].startswith("the source has 1 more row than when this release was made")
    with duckdb.connect("given/out.duckdb", read_only=True) as con:
        assert con.execute("SELECT count(*) FROM patients_public").fetchone() == (64,)


def test_what_is_in_the_way_is_never_given_along() -> None:
    write(target="out.duckdb")
    zoo.run("out.yml")
    Path("given").mkdir()
    Path("given/.notes").write_text("of people")
    assert "not empty" in exported("given", code=2)
    Path("file").write_text("")
    assert "no folder" in exported("file", code=2)
    assert names("given") == {".notes"}


@pytest.mark.full
def test_the_manifest_of_a_report_tells_the_files_as_that_of_an_export_does() -> None:
    write(target="out.duckdb", output={"export": ["out.csv", "out.parquet"]})
    zoo.run("out.yml")
    exported("given")
    asked = ["report", "out.yml", "--audience", "public"]
    assert CliRunner().invoke(app, asked).exit_code == 0
    (one, other) = (
        json.loads(Path(folder, "patients_public_public_report.json").read_text())["content"]
        for folder in (".", "given")
    )
    assert one["files"].keys() == other["files"].keys()
    for name, digest in one["files"].items():
        assert digest == hashlib.sha256(Path(name).read_bytes()).hexdigest()
    manifest = ["--manifest", "patients_public_public_report.json"]
    for name in ("out.duckdb", "out.csv", "out.parquet"):
        assert CliRunner().invoke(app, ["verify", name, *manifest]).exit_code == 0
    rows = Path("out.csv").read_text().replace("flu", '"flu"', 1)
    Path("out.csv").write_text(rows)
    told = CliRunner().invoke(app, ["verify", "out.csv", *manifest])
    assert "not byte by byte" in told.output
    assert told.exit_code == 4


@pytest.mark.full
def test_a_report_of_what_is_in_no_file_tells_no_files() -> None:
    write()
    zoo.run("out.yml")
    CliRunner().invoke(app, ["report", "out.yml", "--audience", "public"])
    told = json.loads(Path("patients_public_public_report.json").read_text())
    assert "files" not in told["content"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", ["render", "manifest"])
def test_a_page_and_its_manifest_are_written_both_or_none(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(target="out.duckdb")
    zoo.run("out.yml")
    before = names(".")

    def no_memory(*_: Any) -> str:
        raise MemoryError

    monkeypatch.setattr(report_files, part, no_memory)
    assert CliRunner().invoke(app, ["report", "out.yml", "-o", "page.html"]).exit_code != 0
    assert names(".") == before
