"""The tutorial, the examples and the pages for each reader are run as they stand."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from guide import DOCS, ROOT, follow

EXAMPLES = ROOT / "examples"
READERS = sorted(path.stem for path in (DOCS / "readers").glob("*.md"))


def copied(name: str, folder: Path) -> Path:
    """An example as a checkout has it, without what commands make of it."""
    made = shutil.ignore_patterns("*_public.duckdb", "*.private.duckdb", "*.html", "*.json")
    return Path(shutil.copytree(EXAMPLES / name, folder / name, ignore=made))


@pytest.fixture(scope="module")
def diabetes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first example, followed to its end."""
    folder = copied("diabetes130", tmp_path_factory.mktemp("example"))
    assert follow(EXAMPLES / "diabetes130/README.md", folder) == 6
    return folder


@pytest.mark.full
def test_the_first_example_prints_what_it_shows(diabetes: Path) -> None:
    left = {path.name for path in diabetes.iterdir()}
    assert {"diabetes130_public.duckdb", "public.html", "public.json"} <= left


@pytest.mark.full
@pytest.mark.parametrize("reader", READERS)
def test_every_command_of_a_readers_page_runs(reader: str, diabetes: Path) -> None:
    follow(f"readers/{reader}.md", diabetes)


@pytest.mark.full
@pytest.mark.parametrize(("name", "texts"), [("support2", 3), ("frontier", 3)])
def test_an_example_prints_what_it_shows(name: str, texts: int, tmp_path: Path) -> None:
    assert follow(EXAMPLES / name / "README.md", copied(name, tmp_path)) == texts


@pytest.mark.full
def test_the_tutorial_leads_from_a_csv_to_a_release(tmp_path: Path) -> None:
    folder = copied("diabetes130", tmp_path)
    assert follow("tutorial.md", folder) == 11
    assert (folder / "encounters_public.parquet").exists()


def test_every_example_is_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    assert all(f"]({name}/README.md)" in listed for name in folders)
