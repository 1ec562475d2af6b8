"""Parquet files of any writer: each byte is accounted for, and notes hold names and types only."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbdeid.verify import verify_bare
from dbdeid.verify.files import note_words
from dbdeid.verify.files.foreign_parquet import found_wrong

Frame = pd.DataFrame
ROWS = pa.table({"age": [1, 1, 2, 2] * 500, "ward": ["a", "a", "b", None] * 500})


def frame() -> Frame:
    return pd.DataFrame(
        {
            "age": [1, 1, 2, 2],
            "ward": pd.Categorical(["a", "a", "b", "b"]),
            "day": pd.to_datetime(["2020-01-01"] * 4).tz_localize("Europe/Berlin"),
            "share": [0.5, None, 1.5, 2.0],
            "ill": [True, False, None, True],
            "some": pd.array([1, None, 2, 3], dtype="Int64"),
            "text": pd.array(["x", None, "y", "z"], dtype="string"),
            "hours": pd.to_timedelta([1, 2, 3, 4], unit="h"),
            "list": [[1], [2, 3], [], [4]],
        }
    )


FRAMES: dict[str, Callable[[], Frame]] = {
    "range": frame,
    "filtered": lambda: frame()[lambda f: f["age"] > 1],
    "indexed": lambda: frame().set_index("ward"),
    "two indexes": lambda: frame().set_index(["ward", "age"]),
    "reversed": lambda: frame().iloc[::-1],
    "stepped": lambda: frame().iloc[::2],
    "empty": lambda: frame().iloc[:0],
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames_of_pandas_pass(tmp_path: Path, name: str) -> None:
    path = tmp_path / "theirs.parquet"
    FRAMES[name]().to_parquet(path)
    assert found_wrong(path) == []


def test_frames_of_pandas_over_arrow_pass(tmp_path: Path) -> None:
    path = tmp_path / "theirs.parquet"
    plain = frame()[["age", "day", "share", "ill", "text"]].convert_dtypes(dtype_backend="pyarrow")
    kinds = {
        "decimal": pa.decimal128(10, 2),
        "date": pa.date32(),
        "moment": pa.timestamp("us", tz="Europe/Berlin"),
        "list": pa.list_(pa.int64()),
        "words": pa.dictionary(pa.int32(), pa.string()),
        "time": pa.time64("us"),
        "wide": pa.large_string(),
        "parts": pa.struct([("u", pa.int64()), ("v", pa.list_(pa.string()))]),
        "span": pa.duration("us"),
    }
    for name, kind in kinds.items():
        plain[name] = pd.Series([None] * 4, dtype=pd.ArrowDtype(kind))
    plain["month"] = pd.period_range("2020", periods=4, freq="M")
    plain["range"] = pd.interval_range(0, 4)
    plain.to_parquet(path)
    assert found_wrong(path) == []


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "page index": {"write_page_index": True},
    "second version": {"data_page_version": "2.0", "compression": "zstd"},
    "small pages": {"data_page_size": 64, "row_group_size": 300, "use_dictionary": False},
    "checksums": {"write_page_checksum": True, "compression": "none"},
    "without a schema": {"store_schema": False},
    "Bloom filters": {"bloom_filter_options": {"ward": True}},
    "sorted": {"sorting_columns": [pq.SortingColumn(0)]},
    "statistics": {"write_statistics": False},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_files_of_arrow_pass(tmp_path: Path, name: str) -> None:
    path = tmp_path / "theirs.parquet"
    try:
        pq.write_table(ROWS, path, **OPTIONS[name])
    except TypeError:
        pytest.skip("not an option of this pyarrow")
    assert found_wrong(path) == []
    for rows in (ROWS.slice(0, 0), pa.table({"a": pa.array([None, None])})):
        pq.write_table(rows, path, **({} if name == "sorted" else {"compression": "gzip"}))
        assert found_wrong(path) == []


def test_nested_and_dictionary_columns_pass(tmp_path: Path) -> None:
    path = tmp_path / "theirs.parquet"
    columns = {
        "s": pa.array([{"a": 1, "b": ["x"]}, None]),
        "d": pa.array(["u", "v"]).dictionary_encode(),
        "t": pa.array([1, 2], pa.timestamp("us", "UTC")),
        "n": pa.array(np.array([0.5, 1.5], np.float32)),
    }
    pq.write_table(pa.table(columns), path)
    assert found_wrong(path) == []


@pytest.mark.parametrize("options", ["", ", ROW_GROUP_SIZE 2048", ", COMPRESSION zstd"])
def test_files_of_duckdb_pass(tmp_path: Path, options: str) -> None:
    path = tmp_path / "theirs.parquet"
    query = "SELECT i % 97 AS a, 'w' || i % 50 AS b FROM range(9000) AS r(i)"
    duckdb.sql(f"COPY ({query}) TO '{path}' (FORMAT parquet{options})")
    assert found_wrong(path) == []


SPARK = {
    "org.apache.spark.version": "3.5.1",
    "org.apache.spark.timeZone": "Europe/Berlin",
    "org.apache.spark.legacyDateTime": "",
}


def spark(**field: Any) -> str:
    """What Spark notes of the columns, as its `StructType.json` writes it."""
    lists = {"type": "array", "elementType": "string", "containsNull": True}
    fields = [
        {"name": "age", "type": "long", "nullable": True, "metadata": {}} | field,
        {"name": "ward", "type": lists, "nullable": True, "metadata": {}},
    ]
    return json.dumps({"type": "struct", "fields": fields})


def noted(path: Path, notes: dict[str, str | bytes]) -> list[str]:
    """What is found in a file with notes."""
    with pq.ParquetWriter(path, ROWS.schema, store_schema=False) as writer:
        writer.write_table(ROWS)
        writer.add_key_value_metadata({k.encode(): _bytes(v) for k, v in notes.items()})
    return found_wrong(path)


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def test_notes_of_spark_pass(tmp_path: Path) -> None:
    notes = SPARK | {"org.apache.spark.sql.parquet.row.metadata": spark()}
    assert noted(tmp_path / "theirs.parquet", notes) == []


def changed(**changes: Any) -> str:
    """The note of pandas on the rows, with changes."""
    found: dict[str, Any] = json.loads(
        pa.Table.from_pandas(ROWS.to_pandas()).schema.metadata[b"pandas"]
    )
    for key, value in changes.items():
        part, _, inside = key.partition("__")
        if inside:
            found[part][0] = found[part][0] | {inside: value}
        else:
            found[part] = value
    return json.dumps(found)


JANE = "Jane Roe"
ARROW = base64.b64encode(
    pa.schema([("age", pa.int64())], metadata={"note": JANE}).serialize().to_pybytes()
)


def arrow(*fields: pa.Field) -> bytes:
    return base64.b64encode(pa.schema(fields).serialize().to_pybytes())


OTHERS = base64.b64encode(pa.schema([(JANE, pa.int64())]).serialize().to_pybytes())
NOTES: dict[str, tuple[dict[str, str | bytes], str]] = {
    "unknown": ({"note": JANE}, "of a kind that is not known"),
    "unknown key": ({JANE: "x"}, "of a kind that is not known"),
    "not json": ({"pandas": JANE}, "what cannot be read in 'pandas'"),
    "another key": ({"pandas": changed(note=JANE)}, "keys that pandas does not write"),
    "attributes": ({"pandas": changed(attributes={"n": JANE})}, "under attributes"),
    "column": ({"pandas": changed(columns__name=JANE)}, "under columns"),
    "field": ({"pandas": changed(columns__field_name=JANE)}, "under columns"),
    "type": ({"pandas": changed(columns__numpy_type=JANE)}, "under columns"),
    "more": ({"pandas": changed(columns__note=JANE)}, "under columns"),
    "detail": ({"pandas": changed(columns__metadata={"note": JANE})}, "under columns"),
    "zone": ({"pandas": changed(columns__metadata={"timezone": JANE})}, "under columns"),
    "named columns": ({"pandas": changed(column_indexes__name=JANE)}, "under column_indexes"),
    "named range": ({"pandas": changed(index_columns__name=JANE)}, "under index_columns"),
    "other range": ({"pandas": changed(index_columns__stop=2001)}, "under index_columns"),
    "other index": ({"pandas": changed(index_columns=[JANE])}, "under index_columns"),
    "partitions": ({"pandas": changed(partition_columns=[JANE])}, "under partition_columns"),
    "library": ({"pandas": changed(creator={"library": JANE})}, "under creator"),
    "version": ({"pandas": changed(pandas_version=JANE)}, "under pandas_version"),
    "arrow": ({"ARROW:schema": ARROW}, "of a kind that is not known"),
    "arrow's columns": ({"ARROW:schema": OTHERS}, "names of columns that are not there"),
    "arrow's zone": (
        {"ARROW:schema": arrow(pa.field("age", pa.timestamp("us", "Jane/Roe")))},
        "more than names and types",
    ),
    "arrow's field": (
        {"ARROW:schema": arrow(pa.field("age", pa.int64(), metadata={"note": JANE}))},
        "more than names and types",
    ),
    "arrow's part": (
        {"ARROW:schema": arrow(pa.field("age", pa.struct([("Jane", pa.int64())])))},
        "more than names and types",
    ),
    "arrow's extension": (
        {
            "ARROW:schema": arrow(
                pa.field("age", pa.int64(), metadata={"ARROW:extension:name": "Jane.Roe"})
            )
        },
        "more than names and types",
    ),
    "pandas' zone": ({"pandas": changed(columns__metadata={"timezone": "Jane/Roe"})}, "columns"),
    "pandas' inner zone": (
        {"pandas": changed(columns__numpy_type="datetime64[ns, Jane/Roe]")},
        "under columns",
    ),
    "pandas' part": (
        {"pandas": changed(columns__numpy_type="struct<Jane: int64>[pyarrow]")},
        "under columns",
    ),
    "pandas' version": ({"pandas": changed(pandas_version="2.jane_roe_hiv")}, "pandas_version"),
    "spark's words": ({"org.apache.spark.version": "3jane.roe-hiv"}, "no version of Spark"),
    "spark's other zone": ({"org.apache.spark.timeZone": "Jane/Roe"}, "no time zone"),
    "spark's other type": (
        {"org.apache.spark.sql.parquet.row.metadata": spark(type="jane_roe")},
        "more than names and types",
    ),
    "no schema": ({"ARROW:schema": JANE}, "what cannot be read in 'ARROW:schema'"),
    "spark": ({"org.apache.spark.version": JANE}, "no version of Spark"),
    "spark's zone": ({"org.apache.spark.timeZone": JANE}, "no time zone"),
    "mark": ({"org.apache.spark.legacyDateTime": JANE}, "more than a mark"),
    "comment": (
        {"org.apache.spark.sql.parquet.row.metadata": spark(metadata={"comment": JANE})},
        "more than names and types",
    ),
    "spark's columns": (
        {"org.apache.spark.sql.parquet.row.metadata": spark(name=JANE)},
        "more than names and types",
    ),
    "spark's type": (
        {"org.apache.spark.sql.parquet.row.metadata": spark(type=JANE)},
        "more than names and types",
    ),
}


@pytest.mark.parametrize("name", NOTES)
def test_other_notes_are_told_by_their_kind(tmp_path: Path, name: str) -> None:
    notes, words = NOTES[name]
    found = noted(tmp_path / "theirs.parquet", notes)
    assert len(found) == 1
    assert words in found[0]
    assert "Jane" not in found[0]


def test_the_note_of_pandas_as_it_is_passes(tmp_path: Path) -> None:
    assert noted(tmp_path / "theirs.parquet", {"pandas": changed()}) == []


# -- bytes ---------------------------------------------------------------------------------


def _moved(path: Path, place: int, put: bytes) -> None:
    """Bytes put into a file before the footer, where nothing points behind them."""
    data = path.read_bytes()
    path.write_bytes(data[:place] + put + data[place:])


@pytest.mark.parametrize("put", [b"Jane Roe", b"\0\0\0\0Jane"])
def test_bytes_before_the_footer(tmp_path: Path, put: bytes) -> None:
    path = tmp_path / "theirs.parquet"
    pq.write_table(ROWS, path)
    place = path.stat().st_size - 8 - int.from_bytes(path.read_bytes()[-8:-4], "little")
    _moved(path, place, put)
    assert pq.read_table(path).equals(ROWS)
    assert found_wrong(path) == [f"{len(put)} bytes outside its columns and footer"]
    found = verify_bare(path, ("age",), 2)
    assert {c.check for c in found.hygiene if not c.holds} == {"metadata"}


def test_zeros_that_fill_up_a_block_pass(tmp_path: Path) -> None:
    path = tmp_path / "theirs.parquet"
    pq.write_table(ROWS, path)
    place = path.stat().st_size - 8 - int.from_bytes(path.read_bytes()[-8:-4], "little")
    _moved(path, place, b"\0" * 100)
    assert found_wrong(path) == []


def test_a_column_that_a_footer_leaves_out(tmp_path: Path) -> None:
    # the footer of some rows, over a file that holds more of them
    whole, part = tmp_path / "whole.parquet", tmp_path / "part.parquet"
    with pq.ParquetWriter(whole, ROWS.schema) as writer:
        writer.write_table(ROWS)
        place = writer.file_handle.tell() if writer.file_handle else whole.stat().st_size
    pq.write_table(ROWS, part)
    footer = part.read_bytes()
    length = 8 + int.from_bytes(footer[-8:-4], "little")
    data = whole.read_bytes()[: len(footer) - length]
    part.write_bytes(data + b"PAR1" + whole.read_bytes()[4:place] + footer[-length:])
    assert pq.read_table(part).num_rows == ROWS.num_rows
    (told,) = found_wrong(part)
    assert "bytes outside its columns" in told


@pytest.mark.parametrize("told", ["Jane Roe", "Jane version hiv", "DuckDB (build Jane-Roe)"])
def test_the_name_of_a_writer(tmp_path: Path, told: str) -> None:
    path = tmp_path / "theirs.parquet"
    pq.write_table(ROWS, path)
    data = path.read_bytes()
    name = pq.read_metadata(path).created_by.encode()
    assert data.count(name) == 1
    path.write_bytes(data.replace(name, told.encode().ljust(len(name))))
    assert found_wrong(path) == ["in the notes of its writer: the name of the writer"]


@pytest.mark.parametrize(
    ("writer", "known"),
    [
        ("parquet-cpp-arrow version 17.0.0", True),
        ("parquet-cpp version 1.5.1-SNAPSHOT", True),
        (f"parquet-mr version 1.13.1-databricks-0002 (build {'0a' * 20})", True),
        ("DuckDB version v1.4.2 (build 68d7555f68)", True),
        ("DuckDB version v2.0-dev1 (build 68d7555f68)", True),
        ("fastparquet-python version 2024.11.0 (build 0)", True),
        ("Polars", True),
        ("parquet-mr-trino version 435 (build n/a)", True),
        (f"ClickHouse version 25.10.1 (build {'0a' * 20})", True),
        ("Polars version hiv", False),
        ("parquet-mr version 1.13.1 (build jane)", False),
        ("parquet-cpp-arrow version 17.0.0-jane", False),
        ("parquet-cpp-arrow version 17.0.0 ", False),
        ("parquet-cpp-arrow version 1977050319770503", False),
    ],
)
def test_writers_are_known_by_name_and_numbered(writer: str, known: bool) -> None:
    assert note_words.is_writer(writer) == known


def test_a_schema_that_arrow_cannot_read(tmp_path: Path) -> None:
    path = tmp_path / "theirs.parquet"
    noted(path, {"ARROW:schema": JANE})
    (check,) = (c for c in verify_bare(path, ("age",), 2).hygiene if not c.holds)
    assert check.check == "metadata"
    assert "Jane" not in check.detail
