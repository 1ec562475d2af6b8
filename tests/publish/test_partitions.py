"""Releases as folders of Parquet files: what readers find, and mutants of files and folders."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from specs import unmeasured

import dbdeid
from dbdeid.commands.handout import hand_out
from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.regular import digest
from dbdeid.engine.relation import Relation
from dbdeid.errors import DataError, SpecError
from dbdeid.publish import partitions
from dbdeid.verify.files import partitions as folders

BY = ("sex", "zip")


def spec(k: int = 2, **output: Any) -> dict[str, Any]:
    exported = {"export": ["public/"], "partition_by": list(BY)} | output
    return unmeasured(target="out.duckdb", output=exported) | {
        "database": "owner.duckdb",
        "privacy": [{"model": "k_anonymity", "k": k}],
    }


@pytest.fixture
def place(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(shelf, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def released() -> Counter[Any]:
    with duckdb.connect("out.duckdb", read_only=True) as con:
        return Counter(con.execute("SELECT age, zip, sex, illness FROM people_public").fetchall())


def test_readers_find_the_release_in_it(place: Path) -> None:
    files = sorted(p.relative_to(place) for p in Path("public").resolve().rglob("*.parquet"))
    assert len(files) > 2
    assert all(len(f.parts) == 4 and f.name == "data.parquet" for f in files)
    with duckdb.connect() as con:
        query = "FROM read_parquet('public/*/*/*.parquet', hive_partitioning = true)"
        found = con.execute(f"SELECT age, zip, sex, illness {query}").fetchall()
    assert Counter(found) == released()
    table = ds.dataset("public", partitioning="hive").to_table().to_pylist()
    names = ("age", "zip", "sex", "illness")
    assert Counter(tuple(row[n] for n in names) for row in table) == released()
    assert None in {row["sex"] for row in table}
    for file in files:
        rows = pq.ParquetFile(place / file).read().to_pylist()
        ordered = [tuple((v is None, v or "") for v in row.values()) for row in rows]
        assert ordered == sorted(ordered)
    assert dbdeid.verify(spec()).verified


@pytest.mark.full
def test_a_later_run_replaces_the_whole_folder(place: Path) -> None:
    before = digest(place / "public")
    dbdeid.run(spec(k=5))
    assert digest(place / "public") != before
    found = dbdeid.verify(spec(k=5))
    assert found.verified, found.failures
    assert "folder (public)" in {c.check for c in found.hygiene}
    dbdeid.run(spec())
    assert digest(place / "public") == before
    left = {p.name for p in place.iterdir()}
    assert {n for n in left if n.startswith("public")} == {"public", "public_dictionary.parquet"}
    assert not [n for n in left if n.startswith(".dbdeid")]


def some(place: Path) -> Path:
    return next(p for p in sorted((place / "public").rglob("*.parquet")))


def with_file(name: str) -> Callable[[Path], object]:
    return lambda place: (place / "public" / name).write_text("patient 1")


def rewritten(change: Callable[[Any], Any], **options: Any) -> Callable[[Path], object]:
    def write(place: Path) -> None:
        table = pq.ParquetFile(some(place)).read()
        pq.write_table(change(table), some(place), **options)

    return write


def moved(place: Path) -> None:
    folder = some(place).parent
    folder.rename(folder.with_name("zip=patient%201"))


def spelled(place: Path) -> None:
    folder = some(place).parent
    folder.rename(folder.with_name(folder.name.replace("zip=", "%7aip=")))


def linked(place: Path) -> None:
    some(place).rename(place / "elsewhere.parquet")
    some_folder = sorted((place / "public").rglob("zip=*"))[0]
    (some_folder / "data.parquet").symlink_to(place / "elsewhere.parquet")


def linked_folder(place: Path) -> None:
    (place / "public" / "sex=x").symlink_to(place)


def twice(place: Path) -> None:
    shutil.copytree(some(place).parent, some(place).parent.with_name("zip=other"))


MUTANTS: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "a file beside": (with_file("notes.txt"), {"folder"}),
    "a hidden file": (with_file(".notes"), {"folder"}),
    "a mark of success": (with_file("_SUCCESS"), {"folder"}),
    "a file in a leaf": (
        lambda place: (some(place).parent / "patient1.parquet").write_bytes(b""),
        {"folder"},
    ),
    "an empty folder": (lambda place: (place / "public" / "sex=x").mkdir(), {"folder"}),
    "a value written otherwise": (spelled, {"folder"}),
    "a link": (linked, {"folder"}),
    "a link to a folder": (linked_folder, {"folder"}),
    "another value": (moved, {"content"}),
    "a file less": (lambda place: shutil.rmtree(some(place).parent), {"content"}),
    "a file twice": (twice, {"content"}),
    "a row less": (rewritten(lambda table: table.slice(1)), {"content", "metadata"}),
    "notes in a footer": (
        rewritten(lambda table: table.replace_schema_metadata({"who": "patient 1"})),
        {"metadata"},
    ),
    "rows in another order": (
        rewritten(lambda table: table.take(list(reversed(range(table.num_rows))))),
        {"order"},
    ),
    "another column": (
        rewritten(lambda table: table.append_column("name", [["patient 1"] * table.num_rows])),
        {"folder"},
    ),
    "no rows": (rewritten(lambda table: table.slice(0, 0)), {"folder", "content"}),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_what_a_folder_hides(place: Path, mutant: str) -> None:
    change, checks = MUTANTS[mutant]
    change(place)
    found = dbdeid.verify(spec())
    failed = {c.check for c in found.hygiene if not c.holds}
    assert {f"{check} (public)" for check in checks} <= failed, found.failures
    assert "patient 1" not in str(found.failures)


@pytest.mark.parametrize("change", [with_file("notes.txt"), linked, linked_folder])
def test_a_folder_that_somebody_changed_is_not_replaced(
    place: Path, change: Callable[[Path], object]
) -> None:
    change(place)
    before = digest(place / "public")
    with pytest.raises(DataError, match="public was changed since dbdeid wrote it"):
        dbdeid.run(spec(k=5))
    assert digest(place / "public") == before


@pytest.mark.full
def test_it_is_handed_out_as_one_file(place: Path) -> None:
    given = hand_out(_written(place), place / "sent")
    names = [file.name for file in given.files]
    assert "public.parquet" in names
    assert all((place / "sent" / name).is_file() for name in names)


def _written(place: Path) -> Path:
    path = place / "spec.json"
    path.write_text(json.dumps(spec()))
    return path


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ({"partition_by": []}, "no column tells which row is in which"),
        ({"export": ["public.csv"]}, "none is exported"),
        ({"partition_by": ["sex", "SEX"]}, "listed twice"),
        ({"partition_by": ["name"]}, "is no released column"),
        ({"partition_by": ["age", "sex", "zip", "illness"]}, "would have no column"),
        ({"export": ["public"]}, "ends in none of"),
        ({"export": ["public.parquet/"]}, "ends in none of"),
        ({"export": ["./"]}, "ends in none of"),
    ],
)
def test_partitions_that_cannot_be(place: Path, output: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        dbdeid.run(spec(**output))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("SELECT '' AS a, 1 AS b", "is empty"),
        ("SELECT '__HIVE_DEFAULT_PARTITION__' AS a, 1 AS b", "can be no name of a folder"),
        ("SELECT repeat('é', 90) AS a, 1 AS b", "can be no name of a folder"),
        ("SELECT i::VARCHAR AS a, 1 AS b FROM range(1001) AS r(i)", "more than 1,000 files"),
        ("SELECT 'x' AS a, 1 AS b WHERE false", "no file"),
        ("SELECT 1.5 AS a, 1 AS b", "is none"),
    ],
)
def test_values_that_cannot_be_names(tmp_path: Path, rows: str, words: str) -> None:
    with Session.open(None, read_only=False) as session:
        session.execute(f"CREATE TEMP TABLE sent AS {rows}")
        with pytest.raises(DataError, match=words):
            partitions.write(session, Relation("sent"), ["a"], tmp_path / "out", "out")


def test_odd_values_are_found_again(tmp_path: Path) -> None:
    """Signs of names, of patterns and of queries, upwards paths, days and truth values."""
    texts = ["a/b", "..", "50 %", "x=y", "[20, 40)", "é ü", "*", "NULL", "it's", "a&b?c#d", None]
    with Session.open(None, read_only=False) as session:
        session.execute("CREATE TEMP TABLE sent (a VARCHAR, b DATE, c BOOLEAN, d INTEGER)")
        for number, text in enumerate(texts):
            values = [text, "2020-02-29", number % 2 == 0, number]
            session.execute_with("INSERT INTO sent VALUES (?, ?, ?, ?)", values)
        folder = tmp_path / "out"
        partitions.write(session, Relation("sent"), ["a", "b", "c"], folder, "out")
        sent = Counter(session.rows("FROM sent"))
    with duckdb.connect() as con:
        types = "{'a': VARCHAR, 'b': DATE, 'c': BOOLEAN}"
        query = f"read_parquet('{folder}/**/*.parquet', hive_types = {types})"
        assert Counter(con.execute(f"SELECT a, b, c, d FROM {query}").fetchall()) == sent
    parts, wrong = folders._parts(folder)
    assert not wrong
    assert {dict(part.values)["a"] for part in parts} == set(texts)
    assert len([*tmp_path.rglob("data.parquet")]) == len(texts)
