"""What belongs to a project, what rests on what, and the order that follows."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from folders import PROJECT, lay_out, spec, write
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.errors import DataError, SpecError
from dbdeid.project.releases import Release, load
from dbdeid.spec.project_file import read_project

Specs = dict[str, dict[str, Any]]


def loaded(folder: Path) -> dict[str, Release]:
    found = load(read_project(folder / "dbdeid.yml"))
    order = {release.name: i for i, release in enumerate(found)}
    assert all(order[up] < order[r.name] for r in found for up in r.upstream)
    return {release.name: release for release in found}


def test_all_specs_below_the_folder_belong_to_it(tmp_path: Path) -> None:
    lay_out(tmp_path, {"a": {}, "inner/deep/b": {}, ".hidden/c": {}, ".d": {}})
    (tmp_path / "releases" / "a_internal_report.json").write_text("{}")
    (tmp_path / "releases" / "notes.md").write_text("read me")
    found = loaded(tmp_path)
    assert {r.label for r in found.values()} == {"releases/a.yml", "releases/inner/deep/b.yml"}


@pytest.mark.parametrize("folder", [".", "made/specs", "./specs"])
def test_the_folder_may_be_another(tmp_path: Path, folder: str) -> None:
    home = lay_out(tmp_path / "home", {}, {**PROJECT, "paths": {"releases": folder}})
    place = home / folder / "a.yml"
    place.parent.mkdir(parents=True, exist_ok=True)
    write(home, "a").rename(place)
    found = loaded(home)["a"]
    assert found.path.resolve() == place.resolve()
    assert found.file.spec.target is not None


READING: list[tuple[dict[str, Any], dict[str, Any]]] = [
    # how `a` is written, how `b` reads it
    ({"target": None}, {"source": "a"}),
    ({"target": None}, {"source": "main.a"}),
    ({"target": None, "release": "A"}, {"source": "a"}),
    ({"target": None}, {"source": {"sql": "SELECT * FROM a JOIN other USING (x)", "name": "s"}}),
    ({"target": None}, {"source": {"sql": "FROM (SELECT * FROM main.a)", "name": "s"}}),
    ({"target": None}, {"source": "a_dictionary"}),
    ({"target": None}, {"privacy": [{"model": "k_map", "k": 3, "population": "a"}]}),
    ({"target": None, "output": {"as": "view"}}, {"source": "a"}),
    ({}, {"database": "../out/a.duckdb", "source": "a"}),
    ({}, {"database": "../out/../out/a.duckdb", "source": "a"}),
    ({"output": {"export": ["../a.csv"]}}, {"source": "../a.csv"}),
    ({"output": {"export": ["../a.csv"]}}, {"source": "../a_dictionary.csv"}),
    ({"output": {"export": ["../x.duckdb"]}}, {"database": "../x.duckdb", "source": "a"}),
    ({}, {"depends_on": ["a"]}),
    ({}, {"depends_on": ["A"]}),
    ({"target": None}, {"source": "a", "method": {"name": "external", "table": "t"}}),
]


@pytest.mark.parametrize(("a", "b"), READING, ids=str)
def test_what_reads_the_release_of_another_rests_on_it(
    tmp_path: Path, a: dict[str, Any], b: dict[str, Any]
) -> None:
    lay_out(tmp_path, {"a": a, "b": b}, {"database": "owner.duckdb"})
    if "target" not in a:
        (tmp_path / "dbdeid.yml").write_text(
            "{database: owner.duckdb, target: 'out/{release}.duckdb'}"
        )
        write(tmp_path, "a", **a)
    found = loaded(tmp_path)
    assert found["b"].upstream == (a.get("release", "a"),)


@pytest.mark.parametrize(
    "b",
    [
        {"source": "patients"},
        {"source": "a"},  # in the database of the owner, where only a target is written
        {"source": "clinic.a"},
        {"source": {"sql": "WITH a AS (FROM patients) FROM a", "name": "s"}},
        {"source": {"sql": "SELECT 'a' FROM patients AS a", "name": "a"}},
        {"source": {"sql": "this is no SQL", "name": "a"}},
        {"database": "../elsewhere.duckdb", "source": "a"},
    ],
    ids=str,
)
def test_what_only_looks_like_it_does_not(tmp_path: Path, b: dict[str, Any]) -> None:
    found = loaded(lay_out(tmp_path, {"a": {}, "b": b}))
    assert found["b"].upstream == ()


names = st.sampled_from("abcdefg")


@pytest.mark.full
@settings(max_examples=examples(40), deadline=None)
@given(st.dictionaries(names, st.sets(names, max_size=3), min_size=1))
def test_any_dependencies_have_an_order_or_a_circle(
    tmp_path_factory: pytest.TempPathFactory, edges: dict[str, set[str]]
) -> None:
    edges = {name: {up for up in ups if up in edges} for name, ups in edges.items()}
    folder = tmp_path_factory.mktemp("project")
    (folder / "dbdeid.yml").write_text("target: '{release}.duckdb'")
    for name, ups in edges.items():
        write(folder, name, depends_on=sorted(ups))
    try:
        found = loaded(folder)
    except DataError as error:
        circle = error.message.split(": ")[1].split(" → ")
        assert circle[0] == circle[-1]
        assert all(b in edges[a] for a, b in pairwise(circle))
    else:
        assert found.keys() == edges.keys()
        assert {name: set(r.upstream) for name, r in found.items()} == edges


def refused(folder: Path, *pieces: str) -> DataError:
    with pytest.raises(DataError) as raised:
        load(read_project(folder / "dbdeid.yml"))
    assert all(piece in str(raised.value) for piece in pieces), str(raised.value)
    return raised.value


def test_two_releases_of_one_name_are_refused(tmp_path: Path) -> None:
    lay_out(tmp_path, {"a": {}, "b": {"release": "A"}})
    refused(tmp_path, "releases/a.yml", "releases/b.yml", "'A'")


@pytest.mark.parametrize(
    "both",
    [{"target": "../same.duckdb"}, {"output": {"export": ["../same.csv"]}}],
    ids=["target", "export"],
)
def test_two_releases_in_one_file_are_refused(tmp_path: Path, both: dict[str, Any]) -> None:
    refused(lay_out(tmp_path, {"a": both, "b": both}), "releases/a.yml", "releases/b.yml", "same")


def test_a_table_that_another_release_explains_itself_by_is_taken(tmp_path: Path) -> None:
    both = {"target": None}
    lay_out(tmp_path, {"a": both, "a_dictionary": both}, {"database": "owner.duckdb"})
    refused(tmp_path, "releases/a.yml", "releases/a_dictionary.yml", "'a_dictionary'")


def test_an_unknown_dependency_is_told(tmp_path: Path) -> None:
    folder = lay_out(tmp_path, {"visits": {}, "b": {"depends_on": ["visit"]}})
    refused(folder, "releases/b.yml", "'visit'", "did you mean 'visits'?")


def test_a_circle_is_named(tmp_path: Path) -> None:
    specs: Specs = {
        "a": {"depends_on": ["c"]},
        "b": {"depends_on": ["a"]},
        "c": {"depends_on": ["b"]},
    }
    told = refused(lay_out(tmp_path, {**specs, "d": {}}), "in a circle").message
    assert told.split(": ")[1] in {"a → c → b → a", "b → a → c → b", "c → b → a → c"}


def test_nothing_there_is_told(tmp_path: Path) -> None:
    refused(lay_out(tmp_path, {}), "no spec in 'releases'", "dbdeid init")
    (tmp_path / "releases").rmdir()
    refused(tmp_path, "'releases' is not there", "paths: {releases: …}")


def test_the_mistakes_of_all_specs_are_told_at_once(tmp_path: Path) -> None:
    lay_out(tmp_path, {"a": {"methd": 1}, "b": {}, "c": {"tags": ["x y"]}})
    (tmp_path / "releases" / "d.yml").write_text("release: [")
    refused(tmp_path, "a.yml: 1 mistake", "'methd'", "c.yml", "tags[0]", "d.yml", "not valid YAML")
    for name in "cd":
        (tmp_path / "releases" / f"{name}.yml").unlink()
    with pytest.raises(SpecError, match="methd"):
        load(read_project(tmp_path / "dbdeid.yml"))


def test_releases_made_elsewhere_and_previews_are_known_as_such(tmp_path: Path) -> None:
    lay_out(
        tmp_path,
        {
            "a": {},
            "b": {"method": {"name": "external", "table": "t"}},
            "c": {"output": {"as": "view"}},
        },
    )
    found = loaded(tmp_path)
    assert [found[name].made_here for name in "abc"] == [True, False, True]
    assert [found[name].verifiable for name in "abc"] == [True, True, False]
    assert spec("a")["release"] == found["a"].name
