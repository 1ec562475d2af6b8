"""A table that somebody brings, and a browser on it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pages import Browser

CITIES = ("Bern", "Basel", "Chur", "Thun")
FIRST = ("Ada", "Bea", "Cleo", "Dora", "Eva", "Fay", "Gia", "Hana", "Ida", "Jana", "Kim", "Lea")
LAST = ("Abt", "Bieri", "Caduff", "Danuser", "Egli", "Frei", "Graf", "Huber", "Imhof", "Joos")
ROWS = 240


def table() -> str:
    """A CSV of people: names, numbers, ages, cities, a diagnosis, and a column nobody knows."""
    draw = random.Random(32)
    lines = ["patient_id,name,age,sex,city,diagnosis,flurb"]
    for i in range(ROWS):
        name = f"{FIRST[i % len(FIRST)]} {LAST[(i // len(FIRST)) % len(LAST)]}{'x' * (i // 120)}"
        lines.append(
            f"P{10_000 + i},{name},{draw.randint(20, 79)},{draw.choice('FM')},"
            f"{draw.choice(CITIES)},{draw.choice(('asthma', 'gout', 'flu'))},{draw.choice('abc')}"
        )
    return "\n".join(lines) + "\n"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """The table, alone in a folder."""
    path = tmp_path / "people.csv"
    path.write_text(table())
    return path


@pytest.fixture(scope="session")
def drafted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, object]:
    """A folder with the table and its draft, and what was found of its columns."""
    from pages import Browser

    folder = tmp_path_factory.mktemp("drafted")
    (folder / "people.csv").write_text(table())
    browser = Browser(folder / "people.csv").open().looked()
    return folder, browser.room.looking.last["look"]


@pytest.fixture
def browser(drafted: tuple[Path, object], tmp_path: Path) -> Iterator[Browser]:
    """A browser on a drafted specification whose columns were looked at."""
    from pages import Browser

    folder, look = drafted
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    made = Browser(tmp_path / "people.yml").open()
    room = made.room
    room._source = room._source_of(room.desk.sheet())
    room.looking.last["look"] = look  # type: ignore[assignment]
    yield made
    room.jobs.close()
