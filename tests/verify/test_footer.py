"""The footer of a Parquet file: nothing hides in it, and its statistics are those of the values."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from handmade import DECLARED, detail, failed, handmade

from dbdeid.verify import verify_file
from dbdeid.verify.files.footer import found_wrong

Change = Callable[[dict[int, Any]], None]


def _varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


class Typed(dict[int, Any]):
    """A struct that remembers the kinds of its fields, so that it can be written again."""


def _read(data: bytes, place: int = 0) -> tuple[Typed, int]:
    def varint() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def value(kind: int) -> Any:
        nonlocal place
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            place += 1
            return data[place - 1]
        if kind in (4, 5, 6):
            return varint()
        if kind == 8:
            size = varint()
            place += size
            return data[place - size : place]
        if kind == 9:
            head = data[place]
            place += 1
            size = head >> 4 if head >> 4 < 15 else varint()
            return (head & 15, [value(head & 15) for _ in range(size)])
        found, place = _read(data, place)
        return found

    found, last = Typed(), 0
    while True:
        head = data[place]
        place += 1
        if not head:
            return found, place
        last += head >> 4
        found[last] = (head & 15, value(head & 15))


def _written(found: Typed) -> bytes:
    def value(kind: int, one: Any) -> bytes:
        if kind in (1, 2):
            return b""
        if kind == 3:
            return bytes([one])
        if kind in (4, 5, 6):
            return _varint(one)
        if kind == 8:
            return _varint(len(one)) + bytes(one)
        if kind == 9:
            inner, ones = one
            head = bytes([min(len(ones), 15) << 4 | inner])
            head += _varint(len(ones)) if len(ones) > 14 else b""
            return head + b"".join(value(inner, each) for each in ones)
        return _written(one)

    text, last = b"", 0
    for number in sorted(found):
        kind, one = found[number]
        text += bytes([number - last << 4 | kind]) + value(kind, one)
        last = number
    return text + b"\0"


def changed(path: Path, change: Change, *, after: bytes = b"") -> None:
    """The same file with another footer."""
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer, _ = _read(data[-8 - length : -8])
    assert _written(footer) == data[-8 - length : -8]
    change(footer)
    text = _written(footer) + after
    path.write_bytes(data[: -8 - length] + text + struct.pack("<I", len(text)) + b"PAR1")


def chunk(footer: dict[int, Any], column: int) -> Typed:
    """What a footer says of a column in its first group of rows."""
    found: Typed = footer[4][1][1][0][1][1][1][column][3][1]
    return found


def statistics(footer: dict[int, Any], column: int) -> Typed:
    found: Typed = chunk(footer, column)[12][1]
    return found


COLUMNS = {
    "wide": "(i * 10::HUGEINT ** 20)::DECIMAL(38, 0)",
    "word": "CASE WHEN i % 3 > 0 THEN 'x' || i END",
    "number": "i / 7.0::DOUBLE",
    "nan": "CASE WHEN i = 2 THEN 'nan'::DOUBLE ELSE i END",
    "float": "(i - 0.5)::FLOAT",
    "tiny": "(i % 100 - 3)::TINYINT",
    "unsigned": "18446744073709551615::UBIGINT - i::UBIGINT",
    "small": "(4294967295 - i)::UINTEGER",
    "money": "(i / 3.0 - 1)::DECIMAL(9, 2)",
    "old": "CASE WHEN i = 1 THEN 'infinity' ELSE '2020-01-01' END::DATE",
    "bc": "DATE '0044-03-15 (BC)' + i::INTEGER",
    "day": "DATE '2020-01-01' + i::INTEGER",
    "moment": "TIMESTAMP '1960-01-01' + to_seconds(i)",
    "fine": "TIMESTAMP_NS '2020-01-01 00:00:00.000000001'",
    "truth": "i % 2 = 0",
    "long": "repeat('é', 300) || i",
    "nothing": "NULL::VARCHAR",
    "empty": "''",
    "zero": "CASE WHEN i = 3 THEN -0.0 ELSE 0.0 END::DOUBLE",
    "leaves": "CASE WHEN i % 2 = 0 THEN ['a', 'b', NULL] WHEN i % 3 = 0 THEN [] END",
    "classes": "[i, i + 1]::BIGINT[]",
}


@pytest.mark.parametrize("rows", [0, 1, 6, 5000])
def test_what_duckdb_writes_is_let_pass(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "t.parquet"
    query = ", ".join(f'{e} AS "{name}"' for name, e in COLUMNS.items())
    options = "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 2048"
    duckdb.sql(f"COPY (SELECT {query} FROM range({rows}) AS r(i)) TO '{path}' ({options})")
    assert found_wrong(path) == []


def _drop(number: int) -> Change:
    return lambda footer: footer.pop(number)


def _first_max(value: bytes) -> Change:
    def change(footer: dict[int, Any]) -> None:
        statistics(footer, 0)[1] = statistics(footer, 0)[5] = (8, value)

    return change


def _set(number: int, kind: int, value: Any) -> Change:
    def change(footer: dict[int, Any]) -> None:
        statistics(footer, 0)[number] = (kind, value)

    return change


def _hide_beside_groups(footer: dict[int, Any]) -> None:
    footer[4][1][1][0][11] = (8, b"patient 1")


def _hide_in_logical_type(footer: dict[int, Any]) -> None:
    footer[2][1][1][1][10] = (12, Typed({1: (12, Typed({1: (8, b"patient 1")}))}))


def _path_of_file(footer: dict[int, Any]) -> None:
    footer[4][1][1][0][1][1][1][0][1] = (8, b"/home/patient 1")


FIELDS = "in the footer, which DuckDB does not write"
STATISTICS = "are not those of its values"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a release and its dictionary, verified."""
    folder = tmp_path_factory.mktemp("published")
    assert handmade().publish(folder / "ward.parquet").verified
    return folder


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_first_max(b"secret"), STATISTICS),
        (_set(6, 8, b"a"), STATISTICS),
        (_set(2, 8, b"a"), STATISTICS),
        (_set(3, 6, 8), STATISTICS),
        (_set(4, 6, 66), STATISTICS),
        (_set(9, 6, 2), STATISTICS),
        (_set(12, 8, b"secret"), f"fields 4.1.3.12.12 {FIELDS}"),
        (_set(3, 8, b"secret"), FIELDS),
        (lambda f: f.update({6: (8, b"patient 1")}), "not written by DuckDB"),
        (lambda f: f.update({6: (8, f[6][1] + b" of patient 1")}), "not written by DuckDB"),
        (_drop(6), "not written by DuckDB"),
        (lambda f: f.update({11: (8, b"patient 1")}), f"fields 11 {FIELDS}"),
        (_hide_beside_groups, FIELDS),
        (_hide_in_logical_type, FIELDS),
    ],
)
def test_another_footer(published: Path, tmp_path: Path, change: Change, words: str) -> None:
    path = Path(shutil.copytree(published, tmp_path / "changed")) / "ward.parquet"
    changed(path, change)
    if words == STATISTICS:
        pq.read_table(path)  # readers take it
    found = verify_file(path, DECLARED, dictionary=path.with_name("ward_dictionary.parquet"))
    assert failed(found) == {"metadata"}
    assert words in detail(found, "metadata")
    assert "secret" not in detail(found, "metadata")


def test_the_footer_of_the_dictionary_too(tmp_path: Path) -> None:
    path = tmp_path / "ward.parquet"
    release = handmade()
    release.write(path)
    beside = path.with_name("ward_dictionary.parquet")
    changed(beside, lambda footer: statistics(footer, 0).update({5: (8, b"secret")}))
    found = verify_file(path, release.declared, dictionary=beside)
    assert failed(found) == {"metadata"}


def test_a_field_that_readers_refuse(tmp_path: Path) -> None:
    path = tmp_path / "ward.parquet"
    handmade().write(path)
    changed(path, _path_of_file)
    assert found_wrong(path) == [f"fields 4.1.1 {FIELDS}"]


def test_bytes_after_the_last_field(tmp_path: Path) -> None:
    path = tmp_path / "ward.parquet"
    handmade().write(path)
    changed(path, lambda _: None, after=b"patient 1")
    assert found_wrong(path) == ["a footer that cannot be read"]


@pytest.mark.parametrize(
    "text",
    [
        "'long story ' || repeat('long story ', 40) || i",
        "repeat('z', 300)",
        "'ab' || repeat('ü', 128) || i",
        "repeat('ä', 200)",
        "repeat('日', 100 + i % 50)",
        "repeat('a', 256)",
        "repeat('b', 257)",
        "repeat(chr(1114111), 70)",
        "repeat('x', 255) || chr(233)",
        "repeat('x', 254) || '😀' || i",
    ],
)
def test_long_texts_are_cut_in_statistics_and_let_pass(tmp_path: Path, text: str) -> None:
    path = tmp_path / "long.parquet"
    duckdb.sql(f"COPY (SELECT {text} AS t FROM range(90) AS r(i)) TO '{path}' (FORMAT parquet)")
    assert found_wrong(path) == []


def test_a_cut_text_that_no_value_begins_with_is_a_lie(tmp_path: Path) -> None:
    path = tmp_path / "long.parquet"
    duckdb.sql(f"COPY (SELECT repeat('abc', 150) AS t) TO '{path}' (FORMAT parquet)")
    content = path.read_bytes()
    at = content.rindex(b"abc" * 80)
    path.write_bytes(content[:at] + b"abd" + content[at + 3 :])
    assert found_wrong(path) == ["statistics of 't' in the footer are not those of its values"]


def test_texts_that_arrow_reads_only_one_by_one_are_read(tmp_path: Path) -> None:
    path = tmp_path / "v2.parquet"
    rows = "SELECT 'name ' || i AS t FROM range(3000) AS r(i)"
    duckdb.sql(f"COPY ({rows}) TO '{path}' (FORMAT parquet, PARQUET_VERSION V2)")
    assert found_wrong(path) == []
