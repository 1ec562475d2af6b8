"""The private files of a project lie in a folder of their own, never beside what is given away."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from folders import PROJECT, lay_out, write

import dbdeid
from dbdeid.cli.text.release.releases import remembered
from dbdeid.errors import SpecError
from dbdeid.workspace import release_files


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*")}


@pytest.mark.full
def test_a_folder_of_targets_holds_nothing_private(tmp_path: Path) -> None:
    home = lay_out(tmp_path / "home", {"a": {}, "b": {"target": "../out/other.duckdb"}})
    (home / "out").mkdir()
    assert dbdeid.project(home).run().exit_code == 0
    assert names(home / "out") == {"a.duckdb", "other.duckdb"}
    assert names(home / "private") == {"a.private.duckdb", "b.private.duckdb"}
    assert (home / "private").stat().st_mode & 0o077 == 0
    assert all(p.stat().st_mode & 0o077 == 0 for p in (home / "private").iterdir())
    assert dbdeid.project(home).test().exit_code == 0
    assert dbdeid.project(home).run().exit_code == 0


@pytest.mark.full
def test_its_runs_are_found_from_everywhere_and_held_against_each_other(tmp_path: Path) -> None:
    home = lay_out(tmp_path / "home", {"a": {}, "b": {}})
    dbdeid.project(home).run()
    for where, found in (
        ("", {"a", "b"}),
        ("releases", {"a", "b"}),
        ("dbdeid.yml", {"a", "b"}),
        ("out/a.duckdb", {"a"}),
        ("private/b.private.duckdb", {"b"}),
        ("releases/b.yml", {"b"}),
    ):
        assert {one.entry.release for one in dbdeid.releases(home / where)} == found
    with duckdb.connect(str(home / "owner.duckdb")) as con:
        con.execute("INSERT INTO patients VALUES ('new', 20, 'ward 0', 'flu')")
    result = dbdeid.run(home / "releases" / "b.yml")
    assert {(f["release"], f["appeared"]["people"]) for f in result.rerelease} == {
        ("a", 1),
        ("b", 1),
    }


@pytest.mark.full
def test_another_folder_can_be_named_and_a_run_that_fails_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = {**PROJECT, "paths": {"private": "kept/inside"}}
    impossible = [{"model": "k_anonymity", "k": 61}]
    home = lay_out(tmp_path / "home", {"a": {"privacy": impossible}}, project)
    assert dbdeid.project(home).run().exit_code == 3
    assert not (home / "kept" / "inside").exists()
    assert not (home / "out").exists()
    write(home, "a")
    assert dbdeid.project(home).run().exit_code == 0
    assert names(home / "kept") == {"inside", "a.private.duckdb"}
    monkeypatch.chdir(home)  # files are called from where one is, not from there
    assert remembered(dbdeid.releases()).endswith("  out/a.duckdb")
    monkeypatch.chdir(tmp_path)
    assert remembered(dbdeid.releases(home)).endswith("  home/out/a.duckdb")


def test_it_cannot_be_the_folder_of_the_targets(tmp_path: Path) -> None:
    home = lay_out(tmp_path / "home", {"a": {}}, {**PROJECT, "paths": {"private": "./out/"}})
    with pytest.raises(SpecError, match="private files would lie in the folder of the targets"):
        dbdeid.project(home)


@pytest.mark.full
def test_a_book_of_an_earlier_version_stays_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = lay_out(tmp_path / "home", {"a": {}, "b": {}})
    with monkeypatch.context() as then:
        then.setattr(release_files, "_private", lambda target, *_: release_files.private_of(target))
        dbdeid.project(home).run(["a"])
    assert names(home / "out") == {"a.duckdb", "a.private.duckdb"}
    assert dbdeid.project(home).test(["a"]).exit_code == 0
    assert [f["release"] for f in dbdeid.run(home / "releases" / "b.yml").rerelease] == ["a"]
    found = dbdeid.run(home / "releases" / "a.yml").rerelease
    assert sorted(f["release"] for f in found) == ["a", "b"]
    assert names(home / "private") == {"b.private.duckdb"}
    assert {one.entry.release for one in dbdeid.releases(home)} == {"a", "b"}
