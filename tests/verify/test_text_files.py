"""Releases in text, packed or not: what is written, and mutants of the text and of its packing."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from handmade import DECLARED, detail, failed, handmade

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.errors import DataError
from dbdeid.publish import copying
from dbdeid.verify import Verification, contents, verify_bare, verify_file
from dbdeid.verify.base import json_files
from dbdeid.verify.files.content import Content
from dbdeid.verify.files.packing import packing

ENDINGS = (".csv.gz", ".csv.zst", ".tsv", ".tsv.gz", ".json", ".json.zst", ".ndjson", ".jsonl.gz")


MORE = (".json.gz", ".ndjson.zst")


@dataclass(frozen=True)
class Shelf:
    """Files of one release, written once, and what they hold."""

    folder: Path
    rows: list[tuple[Any, ...]]
    content: Content | None

    def copied(self, ending: str, folder: Path) -> tuple[Path, Path]:
        """The file of a release and that of its dictionary."""
        names = f"ward{ending}", f"ward_dictionary{ending}"
        one, other = (Path(shutil.copy(self.folder / name, folder)) for name in names)
        return one, other


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    folder, release = tmp_path_factory.mktemp("shelf"), handmade()
    for ending in ENDINGS + MORE:
        release.write(folder / f"ward{ending}")
    with Session.over(release.con, None, read_only=True) as session:
        tables = Relation("ward"), Relation("ward_dictionary"), None
        content = contents(session, DECLARED, *tables)
    return Shelf(folder, release.con.execute("FROM ward").fetchall(), content)


def unpacked(path: Path) -> str:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    if path.suffix == ".zst":
        data = pa.input_stream(pa.py_buffer(data), compression="zstd").read()
    return data.decode()


def repack(path: Path, text: str) -> None:
    data = text.encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    if path.suffix == ".zst":
        data = pa.compress(data, codec="zstd", asbytes=True)
    path.write_bytes(data)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_release_is_verified_and_others_read_its_rows(
    shelf: Shelf, tmp_path: Path, ending: str
) -> None:
    path, dictionary = shelf.copied(ending, tmp_path)
    found = verify_file(path, DECLARED, dictionary=dictionary, same_as=shelf.content)
    assert found.verified, found.failures
    rows = shelf.rows
    text = unpacked(path)
    if "json" in ending or "jsonl" in ending:
        objects = json.loads(text) if ".json" in ending and "jsonl" not in ending else None
        objects = objects or [json.loads(line) for line in text.splitlines()]
        assert [tuple(one.values()) for one in objects] == rows
        assert {tuple(one) for one in objects} == {tuple(c.name for c in DECLARED.columns)}
    else:
        sign = "\t" if ".tsv" in ending else ","
        header, *cells = csv.reader(StringIO(text), delimiter=sign)
        assert header == [c.name for c in DECLARED.columns]
        assert cells == [["" if v is None else str(v) for v in row] for row in rows]


# -- the text ------------------------------------------------------------------------------------

Mutant = Callable[[str], str]


def without_a_row(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join([*lines[:3], *lines[4:]])


def with_a_row(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join([*lines[:3], *lines[2:]])


TEXTS: dict[str, Mutant] = {
    "a changed cell": lambda text: text.replace("gout", "flu", 1),
    "a dropped row": without_a_row,
    "a row twice": with_a_row,
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mutant", TEXTS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_other_rows(shelf: Shelf, tmp_path: Path, ending: str, mutant: str) -> None:
    path, dictionary = shelf.copied(ending, tmp_path)
    before = unpacked(path)
    repack(path, TEXTS[mutant](before))
    assert unpacked(path) != before
    found = verify_file(path, DECLARED, dictionary=dictionary, same_as=shelf.content)
    assert "content" in failed(found)


def first_object(change: Mutant) -> Mutant:
    return lambda text: re.sub(r"\{.*\}", lambda found: change(found[0]), text, count=1)


def later_object(change: Mutant) -> Mutant:
    def changed(text: str) -> str:
        start = text.index("}") + 1
        return text[:start] + first_object(change)(text[start:])

    return changed


EXTRA: Mutant = lambda one: one[:-1] + ',"name":"patient 1"}'  # noqa: E731
TWICE: Mutant = lambda one: '{"dx":"hiv",' + one[1:]  # noqa: E731
OBJECTS: dict[str, tuple[Mutant, str]] = {
    "an extra key": (later_object(EXTRA), "keys"),
    "an extra key in the first": (first_object(EXTRA), "keys"),
    "a key twice": (later_object(TWICE), "keys"),
    "a key twice in the first": (first_object(TWICE), "keys"),
    "a key less": (later_object(lambda one: re.sub(r',"dx":("\w+"|null)', "", one)), "keys"),
    "keys in another order": (
        later_object(lambda one: '{"sex":"f",' + one[1:].replace(',"sex":"f"', "")),
        "keys",
    ),
    "a space": (later_object(lambda one: one.replace(":", ": ", 1)), "types"),
    "a letter written otherwise": (
        later_object(lambda one: one.replace('"zip":"3', '"zip":"\\u0033', 1)),
        "types",
    ),
    "a number as a text": (
        later_object(lambda one: re.sub(r'("age_lower":)(\d+)', r'\1"\2"', one)),
        "types",
    ),
    "a number written otherwise": (
        later_object(lambda one: re.sub(r'("age_lower":)(\d+)', r"\1\2.0", one)),
        "types",
    ),
    "an object in a cell": (
        later_object(lambda one: re.sub(r'"zip":"[^"]*"', '"zip":{"name":"patient 1"}', one)),
        "types",
    ),
    "no object": (later_object(lambda one: '["patient 1"]'), "keys"),
    "no JSON": (later_object(lambda one: "patient 1"), "keys"),
    "an empty line": (lambda text: text.replace("\n", "\n\n", 1), "keys"),
    "lines that end otherwise": (lambda text: text.replace("\n", "\r\n"), "keys"),
    "something after the end": (lambda text: text + " ", "keys"),
    "a mark of the order of bytes": (lambda text: "\ufeff" + text, "keys"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mutant", OBJECTS)
@pytest.mark.parametrize("ending", [".json", ".ndjson", ".json.zst"])
def test_other_objects(shelf: Shelf, tmp_path: Path, ending: str, mutant: str) -> None:
    path, dictionary = shelf.copied(ending, tmp_path)
    change, check = OBJECTS[mutant]
    before = unpacked(path)
    repack(path, change(before))
    assert unpacked(path) != before
    found = looked_at(path, dictionary)
    if isinstance(found, Verification):
        assert {check} & failed(found) or "types" in failed(found)
    else:
        assert mutant in ("an empty line", "a mark of the order of bytes")
    assert "patient 1" not in str(found)


def looked_at(path: Path, dictionary: Path) -> Verification | DataError:
    try:
        return verify_file(path, DECLARED, dictionary=dictionary)
    except DataError as error:
        return error


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("},", "}", 1),
        lambda text: text.replace("[\n", "", 1),
        lambda text: text.removesuffix("]\n"),
        lambda text: text.replace("\t{", "{", 1),
        lambda text: text.replace("}\n]", "},\n]"),
    ],
)
def test_a_list_that_is_none(shelf: Shelf, tmp_path: Path, change: Mutant) -> None:
    path, dictionary = shelf.copied(".json", tmp_path)
    repack(path, change(unpacked(path)))
    found = verify_file(path, DECLARED, dictionary=dictionary)
    assert failed(found) & {"keys", "types"}


def test_a_mutant_of_the_dictionary(shelf: Shelf, tmp_path: Path) -> None:
    path, dictionary = shelf.copied(".json", tmp_path)
    repack(dictionary, first_object(EXTRA)(unpacked(dictionary)))
    found = verify_file(path, DECLARED, dictionary=dictionary)
    assert "keys" in failed(found)


@pytest.mark.parametrize("ending", [".json", ".ndjson", ".csv.gz", ".tsv"])
def test_an_empty_release(tmp_path: Path, ending: str) -> None:
    release = handmade().promise(suppression_limit=1.0)
    release.sql("CREATE OR REPLACE TABLE ward AS FROM ward LIMIT 0")
    release.sql("CREATE OR REPLACE TABLE ward_dictionary AS FROM ward_dictionary LIMIT 0")
    found = release.publish(tmp_path / f"ward{ending}")
    assert found.verified, found.failures


VALUES = """SELECT i::TINYINT AS a, (i * 1e18)::BIGINT AS b, (i || repeat('0', 30))::HUGEINT AS c,
  i / 7.0::DOUBLE AS d, (i / 7.0)::FLOAT AS e, (i / 4.0)::DECIMAL(9, 2) AS f,
  (i / 4.0)::DECIMAL(30, 10) AS g, i % 2 = 0 AS h, DATE '2020-01-01' + i::INTEGER AS j,
  TIMESTAMP '2020-01-01 01:02:03.5' AS k, CASE i WHEN 0 THEN '' WHEN 1 THEN NULL
  WHEN 2 THEN chr(1) || '"\\/é' || chr(10) ELSE 'null' END AS "l ""m"" é", -1e300::DOUBLE AS n,
  1e-7::DECIMAL(15, 10) AS o, TIMESTAMP_S '2020-01-01 01:02:03' AS p FROM range(7) AS r(i)"""


@pytest.mark.parametrize("ending", [".json", ".ndjson"])
def test_values_of_every_type_arrive(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"values{ending}"
    with Session.open(None, read_only=False) as session:
        session.keep_order()
        session.execute(f"CREATE TEMP TABLE sent AS {VALUES}")
        columns = session.describe(Relation("sent").table)
        copying.copy(session, Relation("sent"), path)
        found, checks = json_files.exported(session, path, columns, "found")
        assert all(c.holds for c in checks), checks
        assert session.rows("FROM found") == session.rows("FROM sent")
        assert found.columns == columns
        first = path.read_bytes()
        session.execute("SET threads = 1")
        path.unlink()
        copying.copy(session, Relation("sent"), path)
        assert path.read_bytes() == first
    text = path.read_text()
    objects = json.loads(text) if ending == ".json" else [*map(json.loads, text.splitlines())]
    assert objects[3]["c"] == "3" + "0" * 30
    assert objects[3]["g"] == "0.7500000000"
    assert (objects[3]["f"], objects[3]["b"]) == (0.75, 3 * 10**18)
    assert objects[2]['l "m" é'] == '\x01"\\/é\n'


@pytest.mark.parametrize("value", ["NaN", "Infinity"])
def test_json_has_no_number_for_some(tmp_path: Path, value: str) -> None:
    path = tmp_path / "values.json"
    with Session.open(None, read_only=False) as session:
        session.execute(f"CREATE TEMP TABLE sent AS SELECT '{value}'::DOUBLE AS a")
        with pytest.raises(DataError, match="no number for NaN and infinity"):
            copying.copy(session, Relation("sent"), path)
        path.write_text(f'[\n\t{{"a":{value}}}\n]\n')
        _, checks = json_files.exported(session, path, [Column("a", "DOUBLE")], "found")
        assert not all(c.holds for c in checks)


# -- the packing ---------------------------------------------------------------------------------


def gzipped(
    data: bytes, flags: int = 0, more: bytes = b"", date: int = 0, system: int = 255
) -> bytes:
    text = zlib.decompress(data, 31)
    deflated = zlib.compressobj(9, zlib.DEFLATED, -15)
    head = b"\x1f\x8b\x08" + bytes([flags]) + date.to_bytes(4, "little") + bytes([0, system]) + more
    end = zlib.crc32(text).to_bytes(4, "little") + len(text).to_bytes(4, "little")
    return head + deflated.compress(text) + deflated.flush() + end


Packed = Callable[[bytes], bytes]
GZIP: dict[str, tuple[Packed, str]] = {
    "a file name": (lambda data: gzipped(data, 8, b"patient 1\0"), "a file name"),
    "a comment": (lambda data: gzipped(data, 16, b"patient 1\0"), "a comment"),
    "an extra field": (lambda data: gzipped(data, 4, b"\x09\0patient 1"), "an extra field"),
    "a date": (lambda data: gzipped(data, date=1_700_000_000), "a date"),
    "a system": (lambda data: gzipped(data, system=3), "the system that it was made on"),
    "a second member": (lambda data: data + gzip.compress(b"patient 1"), "a second member"),
    "an empty member": (lambda data: data + gzip.compress(b""), "a second member"),
    "bytes after the end": (lambda data: data + b"patient 1", "9 bytes after its end"),
    "a zero after the end": (lambda data: data + b"\0", "1 bytes after its end"),
}
SKIPPED = bytes.fromhex("502a4d18") + (9).to_bytes(4, "little") + b"patient 1"
ZSTD: dict[str, tuple[Packed, str]] = {
    "a frame to skip before": (lambda data: SKIPPED + data, "a frame that readers skip"),
    "a frame to skip after": (lambda data: data + SKIPPED, "a frame that readers skip"),
    "a second frame": (
        lambda data: data + pa.compress(b"patient 1", codec="zstd", asbytes=True),
        "a second frame",
    ),
    "bytes after the end": (lambda data: data + b"patient 1", "9 bytes after its end"),
    "a dictionary": (
        lambda data: data[:4] + bytes([data[4] | 1]) + data[5:6] + b"\x07" + data[6:],
        "the number of a dictionary",
    ),
    "a block of nothing": (
        lambda data: data[:6] + b"\x02\0\0P" + data[6:],
        "a block that holds nothing",
    ),
    "a flag": (lambda data: data[:4] + bytes([data[4] | 16]) + data[5:], "unknown flags"),
}
MUTANTS = [(".csv.gz", name, *found) for name, found in GZIP.items()]
MUTANTS += [(".json.zst", name, *found) for name, found in ZSTD.items()]


@pytest.mark.parametrize(("ending", "name", "change", "words"), MUTANTS)
def test_what_a_packing_hides(
    shelf: Shelf, tmp_path: Path, ending: str, name: str, change: Packed, words: str
) -> None:
    path, dictionary = shelf.copied(ending, tmp_path)
    assert packing([path], ours=True)[0].holds
    path.write_bytes(change(path.read_bytes()))
    check = packing([path], ours=True)[0]
    assert (check.holds, check.detail) == (False, words)
    found = looked_at(path, dictionary)
    assert isinstance(found, DataError) or "packing" in failed(found)
    assert "patient 1" not in str(found)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ending", [".csv.gz", ".csv.zst", ".json.gz", ".ndjson.zst"])
@pytest.mark.parametrize("keep", [0, 5, 0.5, -1])
def test_a_file_that_is_cut_off(shelf: Shelf, tmp_path: Path, ending: str, keep: float) -> None:
    path, dictionary = shelf.copied(ending, tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep) if keep == 0.5 else int(keep)])
    assert not packing([path], ours=True)[0].holds
    found = looked_at(path, dictionary)
    assert isinstance(found, DataError) or "packing" in failed(found)


def test_a_packed_dictionary_is_looked_at_too(shelf: Shelf, tmp_path: Path) -> None:
    path, dictionary = shelf.copied(".csv.gz", tmp_path)
    dictionary.write_bytes(dictionary.read_bytes() + gzip.compress(b""))
    found = verify_file(path, DECLARED, dictionary=dictionary)
    assert failed(found) == {"packing"}


# -- files of others -----------------------------------------------------------------------------


def test_what_gzip_writes_for_others_is_told(tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv.gz"
    with path.open("wb") as file, gzip.GzipFile("theirs.csv", "wb", fileobj=file) as packed:
        packed.write(b"age,sex\n" + b"30,M\n" * 5)
    found = verify_bare(path, ("age", "sex"), 5)
    assert found.verified
    assert detail(found, "packing").startswith("a file name; a date")
    path.write_bytes(path.read_bytes() + gzip.compress(b"age,sex\n31,M\n"))
    assert failed(verify_bare(path, ("age", "sex"), 5)) >= {"packing"}


def objects(*rows: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def test_anyones_objects_are_counted_as_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "theirs.ndjson"
    row = {"age": 30, "sex": "M", "more": {"a": [1]}}
    path.write_text(objects(*[row] * 5))
    assert verify_bare(path, ("age", "sex"), 5).promises[0].found == 5
    path.write_text(objects(*[row] * 5, *[row | {"age": "30"}] * 4))
    assert verify_bare(path, ("age", "sex"), 4).promises[0].found == 4
    path.write_text(objects(*[row] * 5, *[row | {"name": "Ann"}] * 5))
    assert failed(verify_bare(path, ("age", "sex"), 5)) == {"keys"}
    path.write_text("\n" + objects(row))
    with pytest.raises(DataError, match="no object"):
        verify_bare(path, ("age", "sex"), 5)


def test_a_list_on_one_line_is_refused_by_its_form(tmp_path: Path) -> None:
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps([{"age": 30, "name": "Ann"}] * 5))
    with pytest.raises(DataError, match="one object to a line") as refused:
        verify_bare(path, ("age",), 5)
    assert "Ann" not in str(refused.value)


def test_one_text_is_written_however_many_threads_there_are(tmp_path: Path) -> None:
    written = []
    for threads in (1, 2):
        with duckdb.connect() as con, Session.over(con, None, read_only=False) as session:
            session.keep_order()
            session.execute(f"SET threads = {threads}")
            session.execute(
                "CREATE TEMP TABLE sent AS "
                "SELECT i // 3 AS a, 'text ' || i % 7 AS b FROM range(200000) AS r(i)"
            )
            for ending in (".csv.gz", ".csv.zst", ".json", ".ndjson.zst"):
                path = tmp_path / f"{threads}{ending}"
                copying.copy(session, Relation("sent"), path)
                written.append(path.read_bytes())
    assert written[:4] == written[4:]
