"""The file is the only state: written at once or killed, it is whole, and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dbdeid.errors import DataError
from dbdeid.ui.sheet.desk import Desk, Stale

SPEC = "release: r\nsource: t.csv\n# why\ncolumns:\n  a: {role: undecided}  # first\n"


def give(role: str):  # type: ignore[no-untyped-def]
    def make(data: dict[str, dict[str, object]]) -> None:
        data["columns"]["a"] = {"role": role}

    return make


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    path = tmp_path / "spec.yml"
    path.write_text(SPEC)
    return Desk(path)


def test_many_at_once_each_see_what_they_change(desk: Desk) -> None:
    roles = [f"r{i}" for i in range(8)]
    version, done, stale = desk.sheet().version, [], []

    def edit(role: str) -> None:
        try:
            desk.edit(version, give(role))
            done.append(role)
        except Stale:
            stale.append(role)

    threads = [threading.Thread(target=edit, args=(role,)) for role in roles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 1
    assert len(stale) == 7
    assert desk.path.read_text() == SPEC.replace("undecided", done[0])
    assert [path.name for path in desk.folder.iterdir()] == ["spec.yml"]


def test_what_an_editor_saved_meanwhile_stays(desk: Desk) -> None:
    version = desk.sheet().version

    def slow(data: dict[str, dict[str, object]]) -> None:
        data["columns"]["a"] = {"role": "drop"}
        desk.path.write_text(SPEC + "seed: 7\n")  # saved while the edit is worked out

    with pytest.raises(Stale):
        desk.edit(version, slow)
    assert desk.path.read_text() == SPEC + "seed: 7\n"
    assert [path.name for path in desk.folder.iterdir()] == ["spec.yml"]


def test_ends_of_lines_mode_and_links_stay(desk: Desk) -> None:
    desk.path.write_bytes(SPEC.replace("\n", "\r\n").encode())
    desk.path.chmod(0o640)
    desk.edit(desk.sheet().version, give("drop"))
    assert (
        desk.path.read_bytes() == SPEC.replace("undecided", "drop").replace("\n", "\r\n").encode()
    )
    assert desk.path.stat().st_mode & 0o777 == 0o640


def test_a_disk_that_takes_nothing_leaves_the_file(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left"):
        desk.edit(desk.sheet().version, give("drop"))
    assert desk.path.read_text() == SPEC
    assert [path.name for path in desk.folder.iterdir()] == ["spec.yml"]
    assert not desk.undoable


EDITING = """
import sys
from pathlib import Path
from dbdeid.ui.sheet.desk import Desk
desk = Desk(Path(sys.argv[1]))
print("ready", flush=True)
number = 0
while True:
    number += 1
    desk.edit(desk.sheet().version, lambda data: data["columns"].update(a={"role": f"r{number}"}))
"""


@pytest.mark.full
def test_killed_in_the_middle_of_a_write_the_file_is_whole(desk: Desk) -> None:
    before = SPEC.splitlines()
    for delay in (0.0, 0.003, 0.011, 0.029, 0.057, 0.1, 0.17, 0.23):
        process = subprocess.Popen(
            [sys.executable, "-c", EDITING, str(desk.path)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        lines = desk.path.read_text().splitlines()
        assert lines[:4] == before[:4]
        assert lines[4].startswith("  a: {role: ")
        assert lines[4].endswith("}  # first")
        assert len(lines) == 5
