"""What a killed run leaves is gone after the next command on its book, whichever that is."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest
from worlds import World

import dbdeid
from dbdeid.commands.report import write_report
from dbdeid.commands.verify_evaluate_export import export_release
from dbdeid.engine.scratch import Scratch
from dbdeid.errors import DataError

COMMANDS: dict[str, Callable[[World], object]] = {
    "check": lambda world: dbdeid.check(world.folder / "k5.yml"),
    "verify": lambda world: dbdeid.verify(world.folder / "k5.yml"),
    "evaluate": lambda world: dbdeid.evaluate(world.folder / "k5.yml"),
    "export": lambda world: export_release(world.folder / "k5.yml", world.folder / "again.csv"),
    "report": lambda world: write_report(world.folder / "k5.yml", "internal"),
    "releases of a spec": lambda world: dbdeid.releases(world.folder / "k5.yml"),
    "releases of a target": lambda world: dbdeid.releases(world.folder / "out.duckdb"),
    "releases of a folder": lambda world: dbdeid.releases(world.folder),
    "withdraw": lambda world: dbdeid.withdraw("released", "a test", world.folder / "k5.yml"),
    "run": lambda world: dbdeid.run(world.folder / "k5.yml"),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("world") / "of"
    world = World.make(folder, "small", "target")
    exports = folder / "elsewhere"
    exports.mkdir()
    for k in (5, 10):
        spec = folder / f"k{k}.yml"
        spec.write_text(spec.read_text().replace('"out.csv"', '"elsewhere/out.csv"'))
    dbdeid.run(folder / "k5.yml")
    return world


def left(world: World, home: Path) -> list[Path]:
    """Folders as a killed process leaves them, beside the target and beside an export."""
    found = []
    for folder in (world.folder, world.folder / "elsewhere"):
        scratch = Scratch.make(folder, home)
        (scratch.path / "out.duckdb").write_text("an unfinished release")
        scratch.leave()
        found.append(scratch.path)
    return found


@pytest.mark.sampled(5)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_private_folder_is_left_after_the_next_command(world: World, command: str) -> None:
    folders = left(world, world.home)
    COMMANDS[command](world)
    assert [folder for folder in folders if folder.exists()] == []


def test_what_another_book_may_want_stays(world: World) -> None:
    """As the folder of a living process does, which holds its lock."""
    other = world.folder / "other.private.duckdb"
    other.touch()
    folders = left(world, other)
    living = Scratch.make(world.folder, world.home)
    dbdeid.releases(world.folder / "k5.yml")
    assert all(folder.exists() for folder in (*folders, living.path))
    living.remove()


def test_results_of_a_project_that_were_not_finished_are_gone_when_it_is_opened(
    tmp_path: Path,
) -> None:
    (tmp_path / "dbdeid.yml").write_text("")
    (tmp_path / "releases").mkdir()
    results = dbdeid.project(tmp_path).results_file.parent
    results.mkdir()
    scratch = Scratch.make(results)
    (scratch.path / "run_results.json").write_text("{")
    scratch.leave()
    dbdeid.project(tmp_path)
    assert list(results.iterdir()) == []


def test_a_page_that_was_not_finished_is_gone_when_another_is_written(world: World) -> None:
    place = world.folder / "pages"
    place.mkdir()
    scratch = Scratch.make(place)
    (scratch.path / "page.html").write_text("an unfinished page")
    scratch.leave()
    write_report(world.folder / "k5.yml", "internal", place / "page.html")
    assert sorted(path.name for path in place.iterdir()) == ["page.html", "page.json"]


def test_a_folder_that_cannot_be_written_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.EFBIG, "File too large")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(DataError, match="File too large"):
        Scratch.make(tmp_path, tmp_path / "home.duckdb")
    assert list(tmp_path.iterdir()) == []
