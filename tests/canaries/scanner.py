"""The scanner: every byte of what leaves, raw and opened, searched for canaries.

A published file is looked at as bytes, and once more as whoever opens it sees it: its tables,
statistics, storage, definitions, comments, metadata, decompressed pages and dictionaries.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import fastexcel
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from canaries.planting import Canary

_ZSTD = b"\x28\xb5\x2f\xfd"
# What DuckDB tells of a database beside its rows; each of these functions lists all databases.
_CATALOG = (
    *("databases", "schemas", "tables", "columns", "views", "indexes", "constraints"),
    *("sequences", "types", "functions", "dependencies"),
)


class Scanner:
    """Searches bytes for many canaries at once.

    Attributes:
        searched: bytes looked through so far.
    """

    def __init__(self, canaries: Sequence[Canary]) -> None:
        self.canaries = canaries
        self.searched = 0
        self._short: dict[int, list[tuple[int, str, bytes]]] = {}
        self._long: dict[int, list[tuple[int, str, bytes]]] = {}
        for number, canary in enumerate(canaries):
            for name, needle in canary.needles:
                index, width = (self._long, 8) if len(needle) >= 8 else (self._short, 4)
                key = int.from_bytes(needle[-width:], "little")  # beginnings are often alike
                index.setdefault(key, []).append((number, name, needle))
        self._filters = {8: _Filter(self._long, 8), 4: _Filter(self._short, 4)}

    def search(self, place: str, data: bytes) -> list[str]:
        """Where canaries occur in some bytes, in words."""
        self.searched += len(data)
        found = set()
        for width, index in ((8, self._long), (4, self._short)):
            for at, key in self._filters[width].candidates(data):
                for number, name, needle in index.get(key, ()):
                    start = at + width - len(needle)
                    if start >= 0 and data.startswith(needle, start):
                        canary = self.canaries[number]
                        found.add(f"{place}: {canary.why} of {canary.column!r} as {name}")
        return sorted(found)

    def search_all(self, parts: Iterable[tuple[str, bytes]]) -> list[str]:
        """Where canaries occur in named parts, in words."""
        return [leak for place, data in parts for leak in self.search(place, data)]


class _Filter:
    """Tells which places of some bytes may end a needle, by a hash of its last bytes."""

    _SPREAD, _BITS = np.uint64(0x9E3779B97F4A7C15), 22

    def __init__(self, keys: Iterable[int], width: int) -> None:
        self._width = width
        self._seen = np.zeros(1 << self._BITS, np.bool_)
        self._seen[self._hash(np.fromiter(keys, np.uint64))] = True

    def _hash(self, keys: Any) -> Any:
        with np.errstate(over="ignore"):
            return (keys.astype(np.uint64) * self._SPREAD) >> np.uint64(64 - self._BITS)

    def candidates(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Offsets and the number that stands there."""
        width = self._width
        for shift in range(width):
            count = (len(data) - shift) // width
            if count <= 0:
                continue
            keys = np.frombuffer(data, f"<u{width}", count, shift)
            for hit in np.flatnonzero(self._seen[self._hash(keys)]):
                yield shift + int(hit) * width, int(keys[hit])


def opened(path: Path) -> Iterator[tuple[str, bytes]]:
    """A published file: its name, its bytes, and all that opening it shows."""
    yield f"name of {path.name}", path.name.encode()
    yield f"bytes of {path.name}", path.read_bytes()
    kinds = {".duckdb": _database, ".parquet": _parquet, ".gz": _packed, ".xlsx": _workbook}
    for place, data in kinds.get(path.suffix, _nothing_more)(path):
        yield f"{place}, {path.name}", data


def _nothing_more(path: Path) -> Iterator[tuple[str, bytes]]:
    yield from ()


def _packed(path: Path) -> Iterator[tuple[str, bytes]]:
    text = gzip.decompress(path.read_bytes())
    yield "text", text
    value, _ = json.JSONDecoder().raw_decode(text.decode())  # whatever comes after it
    yield "values", repr(value).encode()


def _workbook(path: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as file:
        yield "comment", file.comment
        for part in file.infolist():
            yield "about a part", repr((part.filename, part.comment, part.extra)).encode()
            yield "part", file.read(part)
    sheet = fastexcel.read_excel(path).load_sheet(0, schema_sample_rows=None)
    yield from _rows(pa.Table.from_batches([sheet.to_arrow()]))


def _parquet(path: Path) -> Iterator[tuple[str, bytes]]:
    yield from pages(path.read_bytes())
    with pq.ParquetFile(path) as file:
        metadata, schema = file.metadata, file.schema
        yield "metadata", repr(metadata.to_dict()).encode()
        yield "schema", repr((schema, file.schema_arrow, file.schema_arrow.metadata)).encode()
        yield from _rows(file.read())
        texts = [c.path for c in map(schema.column, range(len(schema)))]
        texts = [p for i, p in enumerate(texts) if schema.column(i).physical_type == "BYTE_ARRAY"]
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        for group in range(file.num_row_groups):
            for column in file.read_row_group(group, columns=texts).columns:
                for chunk in column.chunks:
                    if pa.types.is_dictionary(chunk.type):
                        yield "dictionary", repr(chunk.dictionary.to_pylist()).encode()


def pages(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Every compressed stretch, whatever the footer says of it."""
    start = data.find(_ZSTD)
    while start >= 0:
        yield "page", _unpacked(data[start:])
        start = data.find(_ZSTD, start + 1)


def _unpacked(data: bytes) -> bytes:
    pieces = []
    with pa.CompressedInputStream(io.BytesIO(data), "zstd") as stream:
        try:
            while piece := stream.read(1):
                pieces.append(piece)
        except OSError:  # the next page begins where this one ends
            pass
    return b"".join(pieces)


def _rows(table: pa.Table) -> Iterator[tuple[str, bytes]]:
    """Rows as text and as Arrow holds them in memory."""
    yield "rows", "\n".join(map(repr, table.to_pylist())).encode()
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    yield "rows in memory", sink.getvalue()


def _database(path: Path) -> Iterator[tuple[str, bytes]]:
    with duckdb.connect() as con, TemporaryDirectory() as folder:
        con.execute(f"ATTACH '{path}' AS opened (READ_ONLY)")
        for name in _CATALOG:
            query = f"FROM duckdb_{name}() WHERE database_name = 'opened'"
            if name == "dependencies":
                query = "FROM duckdb_dependencies()"
            shown = con.execute(query).fetchall()
            yield f"duckdb_{name}()", repr([str(path) not in str(r) and r for r in shown]).encode()
        tables = con.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'opened' "
            "UNION ALL SELECT schema_name, view_name FROM duckdb_views() "
            "WHERE database_name = 'opened' AND NOT internal"
        ).fetchall()
        for schema, table in tables:
            place = f'opened."{schema}"."{table}"'
            yield from _rows(con.sql(f"FROM {place}").to_arrow_table())
            yield from _told(con, place)
        con.execute(f"EXPORT DATABASE opened TO '{folder}'")
        for file in sorted(Path(folder).iterdir()):
            yield f"EXPORT DATABASE {file.name}", file.read_bytes()


def _told(con: duckdb.DuckDBPyConnection, place: str) -> Iterator[tuple[str, bytes]]:
    for query in (
        f"SELECT stats(COLUMNS(*)) FROM {place} LIMIT 1",
        f"FROM pragma_storage_info('{place}')",
        f"SUMMARIZE {place}",
        f"DESCRIBE {place}",
    ):
        try:
            shown = con.execute(query).fetchall()
        except duckdb.Error:  # a view has no storage
            continue
        yield query, repr(shown).encode()
