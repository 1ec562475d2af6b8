"""The file of a project: what specs take from it, and how its mistakes are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from specs import small

from dbdeid.bind.read import read
from dbdeid.errors import SpecError
from dbdeid.spec.file import read_text
from dbdeid.spec.files import located, query_files
from dbdeid.spec.project_file import around, find, read_project, whole
from dbdeid.spec.yaml_text import load

DEFAULTS = """
database: data/owner.duckdb
target: out/{release}.duckdb
defaults:
  privacy: [{model: k_anonymity, k: 7}]
  evaluate: {queries: asked/*.sql}
  null_policy: exclude
"""


def lay_out(folder: Path, text: str = DEFAULTS, **changes: Any) -> Path:
    """A project of one spec, which has no `privacy`; gives the path of the spec."""
    (folder / "releases" / "inner").mkdir(parents=True)
    (folder / "dbdeid.yml").write_text(text)
    spec = {**small(), **changes}
    spec.pop("privacy")
    path = folder / "releases" / "inner" / "people.yml"
    path.write_text(json.dumps(spec, indent=1))
    return path


def test_a_spec_takes_what_it_does_not_have(tmp_path: Path) -> None:
    file = read(lay_out(tmp_path, null_policy="wildcard"))
    assert file.spec.smallest_class == 7
    assert file.spec.null_policy == "wildcard"
    assert file.spec.database == "../../data/owner.duckdb"
    assert file.spec.target == "../../out/people_public.duckdb"
    assert file.shared == {"privacy", "evaluate", "database", "target"}
    assert file.project is not None
    assert file.project.folder == tmp_path.resolve()


def test_a_key_is_taken_as_a_whole(tmp_path: Path) -> None:
    file = read(lay_out(tmp_path, evaluate={"metrics": ["loss"]}))
    assert file.spec.evaluate.queries is None


def test_the_kept_text_reads_alike_without_the_project(tmp_path: Path) -> None:
    path = lay_out(tmp_path)
    file = read(path)
    assert read_text(file.text).spec == file.spec
    (tmp_path / "dbdeid.yml").unlink()
    path.write_text(file.text)
    assert read(path).spec == file.spec


@pytest.mark.parametrize(
    "text",
    [
        "a: 1 # said\n",
        "a: 1",
        "{a: 1}",
        "{a: 1} # said",
        '{"a": 1}',
        "a: 1\n...\n",
        "---\na: 1\n",
        "a: |\n  text\n  of lines\n",
        "a: >-\n  folded",
        "",
        "# nothing\n",
        "a: 2019-12-31\nb: '00501'\nc: 00501\nd: [yes, on]\n",
    ],
)
def test_any_text_can_be_made_whole(text: str) -> None:
    data = load(text, "spec")[0] or {}
    shared = {"more": [{"é": None, "date": "2020-01-01", "quoted": "'\": #\n"}], "seed": 7}
    found, _ = load(whole(text, data, shared), "spec")
    plain = json.loads(json.dumps(data, default=str))
    assert json.loads(json.dumps(found, default=str)) == plain | shared
    assert whole(text, data, {}) == text


def test_comments_stay_where_they_can(tmp_path: Path) -> None:
    assert "# said" in whole("a: 1 # said\n", {"a": 1}, {"seed": 7})


def test_a_spec_elsewhere_takes_no_part(tmp_path: Path) -> None:
    path = lay_out(tmp_path)
    for place in (tmp_path / "people.yml", tmp_path / "drafts" / "people.yml"):
        place.parent.mkdir(exist_ok=True)
        place.write_text(path.read_text())
        assert around(place) is None
        with pytest.raises(SpecError, match="'privacy' is missing"):
            read(place)


def test_the_nearest_project_counts(tmp_path: Path) -> None:
    path = lay_out(tmp_path)
    assert find(path.parent) == tmp_path / "dbdeid.yml"
    (tmp_path / "releases" / "dbdeid.yml").write_text("paths: {releases: other}")
    assert around(path) is None
    assert find(tmp_path) == tmp_path / "dbdeid.yml"


def test_a_linked_folder_of_releases_belongs_to_where_it_is_linked(tmp_path: Path) -> None:
    home, specs = tmp_path / "home", tmp_path / "specs"
    path = lay_out(home)
    (home / "releases").rename(specs)
    (home / "releases").symlink_to(specs)
    file = read(path)
    assert file.spec.database is not None
    assert (file.folder / file.spec.database).resolve() == home / "data" / "owner.duckdb"


def test_an_empty_file_is_a_project(tmp_path: Path) -> None:
    for text in ("", "# nothing yet\n", "defaults:\npaths:\n"):
        (tmp_path / "dbdeid.yml").write_text(text)
        project = read_project(tmp_path / "dbdeid.yml")
        assert project.place("releases") == tmp_path / "releases"
        assert project.shared({}, tmp_path) == {}


@pytest.mark.parametrize(
    "changes", [{"output": {"as": "view"}}, {"method": {"name": "external", "table": "other"}}]
)
def test_what_writes_no_table_takes_no_target(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert (
        "target"
        not in read(lay_out(tmp_path, "target: '{release}.duckdb'\n" + REST, **changes)).shared
    )


REST = "defaults: {privacy: [{model: k_anonymity, k: 7}]}"


def test_none_of_its_own_is_a_key_too(tmp_path: Path) -> None:
    file = read(lay_out(tmp_path, target=None))
    assert file.spec.target is None
    assert "target" not in file.shared


def test_paths_that_start_elsewhere_stay(tmp_path: Path) -> None:
    file = read(lay_out(tmp_path, f"database: {tmp_path}/a.duckdb\n{REST}"))
    assert file.spec.database == f"{tmp_path}/a.duckdb"


def test_inputs_are_found_beside_the_spec_then_in_the_project(tmp_path: Path) -> None:
    path = lay_out(tmp_path)
    (tmp_path / "hierarchies").mkdir()
    in_folder, in_project = tmp_path / "hierarchies" / "age.csv", tmp_path / "age.csv"
    beside = path.parent / "age.csv"
    for place in (in_folder, in_project, beside):
        place.write_text("1;*\n")
        assert located(read(path), "age.csv", "columns") == place
    assert located(read(path), "hierarchies/age.csv", "columns") == in_folder
    assert located(read(path), "nowhere.csv", "columns") == path.parent / "nowhere.csv"


@pytest.mark.full
def test_queries_are_found_so_too(tmp_path: Path) -> None:
    path = lay_out(tmp_path, evaluate={"queries": "asked/*.sql"})
    for folder in (tmp_path / "queries" / "asked", tmp_path / "asked", path.parent / "asked"):
        folder.mkdir(parents=True)
        (folder / "q.sql").write_text("SELECT 1")
        assert query_files(read(path)) == (folder.resolve() / "q.sql",)


@pytest.mark.parametrize(
    ("text", "place", "line", "hint"),
    [
        ("databse: a.duckdb", "databse", 1, "did you mean 'database'?"),
        ("privacy: []", "privacy", 1, "under `defaults`"),
        ("release: a", "release", 1, "is the file of a project"),
        ("\npaths: {release: a}", "paths.release", 2, "did you mean 'releases'?"),
        ("paths: {releases: ../specs}", "paths.releases", 1, "above the folder of releases"),
        ("paths: {releases: /specs}", "paths.releases", 1, "above the folder of releases"),
        ("paths: [a]", "paths", 1, "{key: value}"),
        ("paths: {docs: 7}", "paths.docs", 1, "in quotes"),
        ("defaults: 7", "defaults", 1, "{key: value}"),
        ("defaults:\n  privcy: []", "defaults.privcy", 2, "did you mean 'privacy'?"),
        ("defaults: {release: a}", "defaults.release", 1, "in the spec of the release"),
        ("defaults: {target: a.duckdb}", "defaults.target", 1, "beside `defaults`"),
        ("defaults: {depends_on: [a]}", "defaults.depends_on", 1, "in the spec of the release"),
        ("target: all.duckdb", "target", 1, "public/{release}.duckdb"),
        ("target: '{release}.csv'", "target", 1, "public/{release}.duckdb"),
        ("database: ''", "database", 1, "in quotes"),
        ("- a", "", None, "database: hospital.duckdb"),
        ("a: [", "", 1, "bracket is not closed"),
    ],
)
def test_mistakes_are_told_with_places(
    tmp_path: Path, text: str, place: str, line: int | None, hint: str
) -> None:
    path = tmp_path / "dbdeid.yml"
    path.write_text(text)
    with pytest.raises(SpecError) as raised:
        read_project(path)
    (mistake,) = raised.value.mistakes
    assert (mistake.place, mistake.line) == (place, line)
    assert hint in mistake.hint
    assert str(path) in str(raised.value)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "dbdeid.yml").write_text("a: 1\ntarget: x\ndefaults: {b: 1, release: c}\n")
    with pytest.raises(SpecError) as raised:
        read_project(tmp_path / "dbdeid.yml")
    places = {mistake.place for mistake in raised.value.mistakes}
    assert places == {"a", "target", "defaults.b", "defaults.release"}


def test_a_mistake_in_a_default_is_told_where_it_stands(tmp_path: Path) -> None:
    path = lay_out(tmp_path, "defaults:\n  privacy: [{model: k_anonymity, k: 0}]\n", weigth=1)
    with pytest.raises(SpecError) as raised:
        read(path)
    places = {mistake.place: mistake for mistake in raised.value.mistakes}
    assert set(places) == {"dbdeid.yml: defaults.privacy[0].k", "weigth"}
    assert places["weigth"].line is not None


def test_a_project_that_is_a_folder_or_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "dbdeid.yml").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError, match="not UTF-8"):
        read_project(tmp_path / "dbdeid.yml")
    with pytest.raises(SpecError, match="cannot be read"):
        read_project(tmp_path / "nowhere.yml")
