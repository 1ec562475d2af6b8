"""Releases that exist: only dbdeid's own are replaced, inputs never, and each is found again."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
import zoo
from specs import owned, small

import dbdeid
from dbdeid.commands.verify_evaluate_export import export_release
from dbdeid.workspace.remembered_runs import remembered


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zoo.fill(owned)
    return tmp_path


def spec(**more: Any) -> dict[str, Any]:
    return small(database="owner.duckdb", evaluate={"metrics": []}, **more)


def sql(query: str) -> list[Any]:
    with duckdb.connect("owner.duckdb") as con:
        return con.execute(query).fetchall()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
@pytest.mark.parametrize("name", ["people_public", "PEOPLE_PUBLIC", "people_public_dictionary"])
def test_an_object_of_someone_else_is_refused_and_untouched(kind: str, name: str) -> None:
    sql(f"CREATE {kind} {name} AS SELECT 7 AS a")
    for output in ({}, {"as": "view"}):
        with pytest.raises(dbdeid.DataError, match="not written by dbdeid"):
            dbdeid.run(spec(output=output))
    assert sql(f"FROM {name}") == [(7,)]


@pytest.mark.parametrize("file", ["out.duckdb", "out.parquet", "out_dictionary.parquet", "out.csv"])
def test_a_file_of_someone_else_is_refused_and_untouched(file: str) -> None:
    Path(file).write_bytes(b"theirs")
    with pytest.raises(dbdeid.DataError, match="not written by dbdeid"):
        dbdeid.run(spec(target="out.duckdb", output={"export": ["out.parquet", "out.csv"]}))
    assert Path(file).read_bytes() == b"theirs"
    assert len(list(Path().iterdir())) == 2


def test_the_same_rows_in_other_bytes_are_not_the_file_that_was_written() -> None:
    """DuckDB passes over spaces after a closing quote; others read them."""
    wanted = spec(output={"export": ["out.csv"]})
    dbdeid.run(wanted)
    for name in tiers.some(("out.csv", "out_dictionary.csv"), 2):
        written = Path(name).read_bytes()
        assert b'",' in written
        Path(name).write_bytes(written.replace(b'",', b'"  ,', 1))
        found = dbdeid.verify(wanted)
        told = f"file (out.csv): {name} holds the rows that were verified, but is not byte by byte"
        assert len(found.failures) == 1
        assert found.failures[0].startswith(told)
        Path(name).write_bytes(written)
    Path("out.csv").write_bytes(Path("out.csv").read_bytes().replace(b"\n", b"\n\n", 2)[:-20])
    assert not any(line.startswith("file (") for line in dbdeid.verify(wanted).failures)


@pytest.mark.parametrize("written", ["target", "export"])
def test_an_input_is_never_written_over(written: str) -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute("COPY people TO 'people.parquet'")
    Path("sex.csv").write_text("f,*\nm,*\n")
    before = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in Path().iterdir()}
    for file in ("owner.duckdb", "./owner.duckdb", "people.parquet", "sex.csv"):
        if written == "target" and not file.endswith(".duckdb"):
            continue
        more = {"target": file} if written == "target" else {"output": {"export": [file]}}
        wanted = spec(**more)
        if file.endswith(".parquet"):
            wanted |= {"source": "people.parquet"}
        wanted["columns"]["sex"]["hierarchy"] = "sex.csv"
        with pytest.raises(dbdeid.SpecError, match="input"):
            dbdeid.run(wanted)
    assert {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in Path().iterdir()} == before


@pytest.mark.full
def test_a_run_replaces_its_own_and_table_and_view_change_places() -> None:
    kinds = "SELECT table_type FROM information_schema.tables WHERE table_name = 'people_public'"
    times = 2 if tiers.full else 1
    for output, kind in (({}, "BASE TABLE"), ({"as": "view"}, "VIEW"), ({}, "BASE TABLE")):
        for _ in range(times):
            dbdeid.run(spec(output=output))
            assert sql(kinds) == [(kind,)]
    assert dbdeid.verify(spec()).verified
    assert [entry.entry.kind for entry in remembered(Path("owner.duckdb"))] == [
        *["table"] * times,
        *["view"] * times,
        *["table"] * times,
    ]


def test_a_preview_is_never_verified_nor_exported() -> None:
    dbdeid.run(spec(output={"as": "view"}))
    with pytest.raises(dbdeid.DataError, match="never verified"):
        dbdeid.verify(spec(output={"as": "view"}))
    with pytest.raises(dbdeid.DataError, match="never exported"):
        export_release(spec(output={"as": "view"}), Path("x.csv"))


@pytest.mark.full
def test_two_releases_live_in_one_database() -> None:
    one, two = spec(), spec(release="other", privacy=[{"model": "k_anonymity", "k": 9}])
    zoo.run(one)
    dbdeid.run(two)
    dbdeid.run(one)
    assert dbdeid.verify(one).verified
    assert dbdeid.verify(two).verified
    assert [e.entry.release for e in remembered(Path("owner.duckdb"))] == [
        "people_public",
        "other",
        "people_public",
    ]
    assert sql("SELECT DISTINCT release FROM deid.hierarchies ORDER BY ALL") == [
        ("other",),
        ("people_public",),
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("ending", [".duckdb", ".parquet", ".csv"])
def test_an_export_is_new_and_whole(ending: str) -> None:
    zoo.run(spec())
    written = export_release(spec(), Path(f"x{ending}"))
    assert all(path.exists() for path in written)
    with pytest.raises(dbdeid.DataError, match="exists"):
        export_release(spec(), Path(f"x{ending}"))
    assert not [p for p in Path().iterdir() if p.name.startswith(".")]


def test_an_edited_table_is_caught(place: Path) -> None:
    zoo.run(spec())
    sql("UPDATE people_public SET sex = 'x' WHERE rowid = 3")
    assert not dbdeid.verify(spec()).verified
    sql("DROP TABLE people_public")
    with pytest.raises(dbdeid.DataError, match="gone"):
        dbdeid.verify(spec())
