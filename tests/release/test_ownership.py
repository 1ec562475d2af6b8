"""What a run may replace, and runs that meet: each replaces its own or ends, and says why."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
import zoo
from specs import owned, small, unmeasured

import dbdeid
from dbdeid.commands.verify_evaluate_export import export_release
from dbdeid.engine.session import Settings
from dbdeid.workspace.remembered_runs import remembered


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "place"
    folder.mkdir()
    monkeypatch.chdir(folder)
    zoo.fill(owned)
    return folder


def spec(**more: Any) -> dict[str, Any]:
    return small(database="owner.duckdb", evaluate={"metrics": []}, **more)


def contents() -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in Path().iterdir() if p.is_file()}


def refused(wanted: dict[str, Any], words: str) -> None:
    """The run ends with bad input and nothing has changed."""
    before = contents()
    with pytest.raises(dbdeid.DbdeidError, match=words) as error:
        dbdeid.run(wanted)
    assert error.value.exit_code == 2
    assert contents() == before


# -- files -------------------------------------------------------------------------------------


def test_a_file_that_somebody_changed_is_not_replaced() -> None:
    wanted = spec(target="out.duckdb", output={"export": ["out.csv"]})
    zoo.run(wanted)
    for name in tiers.some(("out.csv", "out_dictionary.csv", "out.duckdb"), 2):
        kept = Path(name).read_bytes()
        Path(name).write_bytes(kept + b"\n")
        refused(wanted, f"{name} was changed since dbdeid wrote it")
        Path(name).write_bytes(kept)
    dbdeid.run(wanted)


@pytest.mark.full
def test_a_release_that_was_moved_is_still_known(place: Path, tmp_path: Path) -> None:
    zoo.run(spec(target="out.duckdb", output={"export": ["out.csv"]}))
    shutil.move(place, tmp_path / "moved")
    os.chdir(tmp_path / "moved")
    dbdeid.run(spec(target="out.duckdb", output={"export": ["out.csv"]}))
    place.mkdir()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("other", ["others", "OUT"])
def test_a_target_belongs_to_one_release(other: str) -> None:
    zoo.run(spec(target="out.duckdb"))
    refused(spec(release=other, target="out.duckdb"), "holds the release 'people_public'")
    dbdeid.run(spec(release="PEOPLE_PUBLIC", target="out.duckdb"))


def test_a_log_beside_the_target_tells_of_somebody_else() -> None:
    zoo.run(spec(target="out.duckdb"))
    Path("out.duckdb.wal").write_bytes(b"theirs")
    refused(spec(target="out.duckdb"), "write-ahead log")


@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize("key", ["target", "export"])
def test_an_input_is_known_by_any_name(link: Any, key: str) -> None:
    link("owner.duckdb", "linked.duckdb")
    Path("sub").mkdir()
    for name in ("linked.duckdb", "sub/../owner.duckdb", str(Path("owner.duckdb").resolve())):
        more = {"target": name} if key == "target" else {"output": {"export": [name]}}
        refused(spec(**more), "input of this spec")
    refused(spec(target="out.duckdb", output={"export": ["./sub/../out.duckdb"]}), "twice")
    refused(spec(target="out.duckdb", output={"export": ["out.private.duckdb"]}), "twice")


@pytest.mark.full
def test_a_link_leads_to_the_place_of_the_release(tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    Path("out.duckdb").symlink_to(far / "real.duckdb")
    for _ in range(2):
        dbdeid.run(spec(target="out.duckdb"))
        assert Path("out.duckdb").is_symlink()
    assert sorted(p.name for p in far.iterdir()) == ["real.duckdb", "real.private.duckdb"]
    assert [e.entry.object for e in remembered(Path("out.duckdb"))] == ["real.duckdb"] * 2
    assert dbdeid.verify(spec(target="out.duckdb")).verified


def test_scratch_of_a_living_process_and_of_others_stays() -> None:
    from dbdeid.engine.scratch import Scratch

    wanted = spec(target="out.duckdb")
    living = Scratch.make(Path())
    for name in (".dbdeid-theirs", ".dbdeid-0123456789abcdeg", "dbdeid-0123456789abcdef"):
        Path(name).mkdir()
    Path(".dbdeid-0123456789abcdef").write_text("a file")
    Path(".dbdeid-0000000000000000").symlink_to("..")
    before = {p.name for p in Path().iterdir()}
    dbdeid.run(wanted)
    assert {p.name for p in Path().iterdir()} == before | {"out.duckdb", "out.private.duckdb"}
    living.remove()


# -- objects -----------------------------------------------------------------------------------


@pytest.mark.full
def test_a_release_never_takes_the_name_of_another_object() -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute("CREATE VIEW seen AS SELECT 1 AS a; CREATE TABLE x_dictionary AS SELECT 1 AS a")
    for name in ("people", "PEOPLE", "seen", "x", "x_dictionary"):
        refused(spec(release=name), "not written by dbdeid")


@pytest.mark.full
def test_the_dictionary_of_one_release_is_not_another_release() -> None:
    dbdeid.run(spec(release="x"))
    refused(spec(release="x_dictionary"), "not written by dbdeid for this release")
    refused(spec(release="X_Dictionary"), "not written by dbdeid for this release")


@pytest.mark.full
def test_a_name_that_a_view_leaves_free_is_another_releases() -> None:
    dbdeid.run(spec(release="x"))
    dbdeid.run(spec(release="x", output={"as": "view"}))  # which has no dictionary
    dbdeid.run(spec(release="x_dictionary"))
    refused(spec(release="x"), "not written by dbdeid for this release")
    assert dbdeid.verify(spec(release="x_dictionary")).verified


def test_a_release_is_never_its_own_source() -> None:
    dbdeid.run(spec())
    again = spec(source="people_public")
    del again["columns"]["name"]
    for name in ("age", "zip"):
        again["columns"][name]["hierarchy"] = "suppress"
    sources: list[Any] = [
        "people_public",
        "PEOPLE_PUBLIC",
        {"sql": "SELECT * FROM main.people_public", "name": "s"},
    ]
    for source in sources:
        refused({**again, "source": source}, "(?i)reads 'people_public', which it would")
    dbdeid.run({**again, "release": "second"})


# -- runs that meet ----------------------------------------------------------------------------


def start(*names: str) -> list[tuple[int, str]]:
    """Run specs at once, each in a process of its own."""
    command = [sys.executable, "-m", "dbdeid", "run"]
    runs = [
        subprocess.Popen(
            [*command, name], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        for name in names
    ]
    told = [run.communicate()[1] for run in runs]
    return [(run.returncode, text) for run, text in zip(runs, told, strict=True)]


@pytest.mark.full
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("case", ["inside", "target", "two specs"])
def test_runs_at_once_end_whole(case: str, first: bool) -> None:
    place = {"target": "out.duckdb"} if case == "target" else {}
    specs = [spec(**place, output={"export": ["out.csv"]})] * 2
    if case == "two specs":
        specs[1] = spec(release="second", privacy=[{"model": "k_anonymity", "k": 9}])
    for number, wanted in enumerate(specs):
        Path(f"{number}.json").write_text(json.dumps(wanted))
        if not first:
            dbdeid.run(wanted)
    ended = start("0.json", "1.json")
    assert {code for code, _ in ended} <= {0, 2}
    assert 0 in {code for code, _ in ended}
    for (code, told), wanted in zip(ended, specs, strict=True):
        if code == 2:
            assert any(w in told for w in ("is locked", "meanwhile")), told
            assert "Hint: " in told
        if code == 0 or not first:
            assert dbdeid.verify(wanted).verified
    assert not list(Path().glob(".dbdeid-*"))


HOLD = "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print('held', flush=True); input()"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("held", ["owner.duckdb", "out.private.duckdb"])
def test_a_database_that_another_process_holds(held: str) -> None:
    wanted = spec(target="out.duckdb")
    zoo.run(wanted)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, held], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        refused(wanted, f"{held}: the database is locked")
        other.communicate("\n")
    assert not tiers.full or dbdeid.run(wanted).verified


@pytest.mark.full
def test_a_reader_of_the_target_keeps_what_it_opened() -> None:
    wanted = spec(target="out.duckdb")
    zoo.run(wanted)
    with duckdb.connect("out.duckdb", read_only=True) as con:
        before = con.execute("FROM people_public").fetchall()
        dbdeid.run({**wanted, "privacy": [{"model": "k_anonymity", "k": 9}]})
        assert con.execute("FROM people_public").fetchall() == before


@pytest.mark.full
def test_another_run_on_the_same_connection_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from dbdeid.release import record

    with duckdb.connect("owner.duckdb") as con:
        made = record.entry_of

        def meanwhile(*given: Any) -> Any:
            monkeypatch.setattr(record, "entry_of", made)
            dbdeid.run(unmeasured(), con)
            return made(*given)

        monkeypatch.setattr(record, "entry_of", meanwhile)
        with pytest.raises(dbdeid.DataError, match="meanwhile"):
            dbdeid.run(unmeasured(), con)
        assert dbdeid.verify(unmeasured(), con).verified
    assert len(remembered(Path("owner.duckdb"))) == 1


def test_installing_inside_a_transaction_is_the_callers_to_keep() -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.begin()
        con.execute("CREATE TABLE mine AS SELECT 1 AS a")
        dbdeid.install(con)
        con.rollback()
        found = con.execute("SELECT 1 FROM duckdb_functions() WHERE schema_name = 'deid'")
        assert found.fetchall() == []
    with duckdb.connect("owner.duckdb") as con:
        con.begin()
        con.execute("CREATE TABLE mine AS SELECT 1 AS a")
        dbdeid.install(con)
        con.commit()
        assert con.execute("SELECT deid.k('people', ['sex'])").fetchall() == [(19,)]


# -- full and read-only places -----------------------------------------------------------------


@pytest.fixture
def tiny(tmp_path: Path) -> Any:
    """A file system of half a megabyte: the dictionary fits, the release does not."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a file system of its own cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(path: Path) -> None:
    """Take all the room that is left, but for a folder's."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        with contextlib.suppress(OSError):
            while True:
                os.write(file, bytes(4096))
        os.ftruncate(file, os.fstat(file).st_size - 8192)
    finally:
        os.close(file)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("case", ["target", "export", "book", "database", "temporary"])
def test_a_full_disk_changes_nothing(
    case: str, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = tiny / "room"
    wanted = spec()
    if case == "target":
        wanted["target"] = str(tiny / "out.duckdb")
    if case == "export":
        wanted["output"] = {"export": [str(tiny / "out.duckdb"), str(tiny / "out.csv")]}
    if case == "book":
        wanted["target"] = str(tiny / "out.duckdb")
        subprocess.run(
            ["mount", "-o", "remount,size=1000k", str(tiny)], check=True, capture_output=True
        )
    if case == "database":
        subprocess.run(
            ["mount", "-o", "remount,size=900k", str(tiny)], check=True, capture_output=True
        )
        shutil.copy("owner.duckdb", tiny / "owner.duckdb")
        wanted["database"] = str(tiny / "owner.duckdb")
    if case == "temporary":
        monkeypatch.setenv("TMPDIR", str(tiny))
        monkeypatch.setattr("tempfile.tempdir", str(tiny))
        query = "SELECT md5(i::VARCHAR) AS name, 20 + i % 60 AS age, '12345' AS zip, 'f' AS sex, "
        query += "md5((i % 9)::VARCHAR) AS illness FROM range(800000) AS r(i)"
        wanted["source"] = {"sql": query, "name": "people"}
    if case == "database":
        fill(room)
    before, there = contents(), {p.name for p in tiny.iterdir()}
    with pytest.raises(dbdeid.DbdeidError) as error:
        dbdeid.run(wanted, settings=Settings(memory_limit="60MB", threads=1))
    assert error.value.exit_code == 2
    assert any(
        w in str(error.value).lower() for w in ("space", "cannot be written", "failed to offload")
    ), error.value
    assert contents() == before
    assert {p.name for p in tiny.iterdir()} - {"owner.duckdb.wal"} == there
    if case == "database":
        room.unlink()
        with duckdb.connect(str(tiny / "owner.duckdb"), read_only=True) as con:
            assert con.execute("SHOW TABLES").fetchall() == [("people",)]


@pytest.mark.parametrize("key", ["target", "export"])
def test_a_folder_that_cannot_be_written(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shut = tmp_path / "shut"
    shut.mkdir()
    name = str(shut / "out.duckdb")
    made = Path.mkdir

    def mkdir(self: Path, *given: Any, **more: Any) -> None:
        if self.parent == shut:  # the administrator, who may run this, can write anywhere
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        made(self, *given, **more)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    more = {"target": name} if key == "target" else {"output": {"export": [name]}}
    refused(spec(**more), "cannot be written")


@pytest.mark.full
def test_an_export_by_hand_leaves_nothing_unfinished() -> None:
    zoo.run(spec(target="out.duckdb"))
    export_release(spec(target="out.duckdb"), Path("more.csv"))
    assert not list(Path().glob(".*"))
    assert {"more.csv", "more_dictionary.csv"} <= set(contents())
