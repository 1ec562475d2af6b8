"""What a `.duckdb` file keeps beyond the rows of its tables: data of before that was not wiped.

DuckDB never rewrites a block in place. A column that is dropped or updated stays where it was when
its block holds other columns too; of blocks that nothing needs any more, some stay in the file; and
after every later checkpoint the catalog of before, with texts, comments and the extremes of
columns, stays beside the new one. So each block is read here as bytes: what is outside the column
segments and the catalog in use must be zero, as it is in a file that was written at once.

Where a segment ends is not told by DuckDB; it stands in the segment's own head, as laid down in
`src/storage/compression` of DuckDB. Of a kind of segment that is not known here, all that comes
before the next one is taken for its own.
"""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdeid.engine.expressions import count_rows, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import sql, step
from dbdeid.verify.base.declaration import Check

# A file opens with three sectors of header, each block with a checksum.
_SECTOR, _SECTORS, _CHECKSUM = 4096, 3, 8
_HEADER = re.compile(  # who wrote it; the rest are numbers
    rb".{8}DUCK.{40}v[\w.+-]{0,31}\0*[0-9a-f]{0,32}\0*", re.DOTALL
)
_WRITER_ENDS, _NUMBERS_END = 116, 256
# Catalog and pointers lie in pieces of blocks.
_PIECES = 64
_VECTOR = 2048
_WIDTHS = {
    **dict.fromkeys(("TINYINT", "UTINYINT", "BOOLEAN"), 1),
    **dict.fromkeys(("SMALLINT", "USMALLINT"), 2),
    **dict.fromkeys(("INTEGER", "UINTEGER", "DATE", "FLOAT"), 4),
    **dict.fromkeys(("BIGINT", "UBIGINT", "DOUBLE", "TIME", "TIMESTAMP"), 8),
    **dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), 8),
    "TIMESTAMP WITH TIME ZONE": 8,
    **dict.fromkeys(("HUGEINT", "UHUGEINT", "UUID", "INTERVAL"), 16),
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),\d+\)")


@dataclass(frozen=True, slots=True)
class _Segment:
    """One stretch of a column in a block."""

    block: int
    offset: int
    compression: str
    kind: str
    count: int
    more: tuple[int, ...]


def storage(session: Session, path: Path, tables: Sequence[Relation]) -> Check:
    """Whether the file holds the rows of its tables and nothing that was there before.

    Args:
        session: the file is its database, unchanged since it was opened.
        path: the file.
        tables: those of the release, whose deleted rows are counted.
    """
    wrong = list(_told(session, path))
    for table in tables:
        stored = step("verify/stored_rows", values={"table": sql(table.table)})
        rows = select(count_rows()).from_(table.table)
        if deleted := int(session.row(stored)[0]) - int(session.row(rows)[0]):
            wrong.append(f"{deleted} deleted rows of {table.name!r}")
    wrong += _bytes(session, path)
    if wrong:
        wrong.append("COPY FROM DATABASE into a new file leaves all this behind")
    return Check("storage", not wrong, "; ".join(wrong))


def _told(session: Session, path: Path) -> Iterator[str]:
    """What DuckDB says itself of the blocks in the file."""
    total, free, size = session.row(step("verify/storage", values={"database": session.catalog}))
    if free:
        yield f"{free} freed blocks, which keep what was deleted"
    if path.stat().st_size > _SECTOR * _SECTORS + total * size:
        yield "bytes after the last block"
    if path.with_name(f"{path.name}.wal").exists():
        yield "a write-ahead log beside the file"


def _bytes(session: Session, path: Path) -> Iterator[str]:
    """What stands outside of catalog and columns, block by block."""
    total, free, size = session.row(step("verify/storage", values={"database": session.catalog}))
    place = {"database": session.catalog}
    catalog = {int(b): pieces for b, pieces in session.rows(step("verify/pieces", values=place))}
    segments = list(_segments(session))
    of_block: defaultdict[int, list[_Segment]] = defaultdict(list)
    for segment in segments:
        of_block[segment.block].append(segment)
    in_use = {*catalog, *of_block, *(b for segment in segments for b in segment.more)}
    indexed = session.row(step("verify/indexes", values=place))[0]  # they have blocks of their own
    if not indexed and (unknown := total - free - len(in_use)) > 0:
        yield f"{unknown} blocks of no table"
    with path.open("rb") as file:
        if _written_over(file.read(_SECTOR * _SECTORS)):
            yield "bytes in its header that DuckDB does not write"

        def block(number: int) -> bytes:
            file.seek(_SECTOR * _SECTORS + number * size)
            return file.read(size)[_CHECKSUM:]

        pieces = sum(_kept_pieces(block(b), pieces) for b, pieces in catalog.items())
        if pieces:
            yield f"{pieces} pieces of a catalog of before"
        gaps = sum(any(_gaps(block(b), found)) for b, found in of_block.items())
        if gaps:
            yield f"bytes of no column in {gaps} blocks, which keep what was dropped or updated"


def _segments(session: Session) -> Iterator[_Segment]:
    for schema, name in session.rows(step("verify/tables", values={"database": session.catalog})):
        place = sql(Relation(name, schema=schema, catalog=session.catalog).table)
        found = session.rows(step("verify/segments", values={"table": place}))
        for block, offset, compression, kind, count, more in found:
            yield _Segment(block, offset, compression, kind, count, tuple(more or ()))


def _written_over(header: bytes) -> bool:
    sectors = [header[i * _SECTOR : (i + 1) * _SECTOR] for i in range(_SECTORS)]
    known = _HEADER.fullmatch(sectors[0][:_WRITER_ENDS])
    return known is None or any(sector[_NUMBERS_END:].strip(b"\0") for sector in sectors)


def _kept_pieces(block: bytes, free: Sequence[int]) -> int:
    """How many pieces that the catalog does not use are not empty."""
    size = len(block) // _PIECES // 8 * 8
    kept = sum(bool(block[i * size : (i + 1) * size].strip(b"\0")) for i in free)
    return kept + bool(block[_PIECES * size :].strip(b"\0"))


def _gaps(block: bytes, segments: list[_Segment]) -> Iterator[bool]:
    """Whether there is anything before, between and after the segments of a block."""
    ordered = sorted(segments, key=lambda s: s.offset)
    starts = [s.offset for s in ordered] + [len(block)]
    yield bool(block[: starts[0]].strip(b"\0"))
    for segment, after in zip(ordered, starts[1:], strict=True):
        data = block[segment.offset : after]
        end = _end(segment, data)
        yield end is not None and bool(data[end:].strip(b"\0"))


# -- where segments end --------------------------------------------------------------------


def _end(segment: _Segment, data: bytes) -> int | None:
    """How many bytes a segment has, or a few more; None where that is not known.

    Args:
        segment: as DuckDB describes it.
        data: its block from its start on.
    """
    try:
        return _length(segment, data)
    except struct.error:
        return None


def _length(segment: _Segment, data: bytes) -> int | None:
    count = segment.count
    match segment.compression:
        case "BitPacking":
            return _u64(data, 0)
        case "ALP" | "ALPRD" | "Chimp" | "Patas":
            return _u32(data, 0)
        case "Dictionary" | "FSST":
            return _u32(data, 4)
        case "RLE":
            return _runs(count, data)
        case "Roaring":
            return _roaring(count, data)
        case "DICT_FSST":
            return _dict_fsst(count, data)
        case "Uncompressed":
            return _uncompressed(segment.kind, count, data)
        case _:
            return None


def _uncompressed(kind: str, count: int, data: bytes) -> int | None:
    if kind in ("VARCHAR", "BLOB"):
        return _u32(data, 4)
    if kind == "VALIDITY":
        return -(-count // _VECTOR) * _VECTOR // 8
    if kind.endswith("[]"):
        return 8 * count
    if decimal := _DECIMAL.fullmatch(kind):
        digits = int(decimal[1])
        return count * next(w for w, most in ((2, 4), (4, 9), (8, 18), (16, 38)) if digits <= most)
    width = _WIDTHS.get(kind)
    return None if width is None else count * width


def _runs(count: int, data: bytes) -> int | None:
    place, seen = _u64(data, 0), 0
    while seen < count:
        (length,) = struct.unpack_from("<H", data, place)
        place, seen = place + 2, seen + length
    return place


def _roaring(count: int, data: bytes) -> int:
    """Containers of 2,048 rows each, then what is known of them.

    That is the kind of each in two bits, of which the second says that it holds runs; the number of
    runs of these in seven bits; both packed in groups of 32; and a byte for each of the others.
    """
    containers, place = -(-count // _VECTOR), 8 + _u64(data, 0)
    end = place + 8 * -(-containers // 32)
    kinds = int.from_bytes(data[place:end], "little")
    runs = sum(kinds >> (2 * i + 1) & 1 for i in range(containers))
    return end + 28 * -(-runs // 32) + containers - runs


def _dict_fsst(count: int, data: bytes) -> int:
    """Dictionary, symbols, lengths of its entries, and the entry of each row, packed in groups."""
    letters, entries, mode, wide, index = struct.unpack_from("<IIBBB", data, 0)
    end = 16 + _eights(letters) + _eights(_u32(data, 12))
    end += _eights(-(-entries // 32) * 4 * wide)
    return end if mode == _ONLY_FSST else end + -(-count // 32) * 4 * index


_ONLY_FSST = 2


def _eights(size: int) -> int:
    return -(-size // 8) * 8


def _u32(data: bytes, place: int) -> int:
    return int(struct.unpack_from("<I", data, place)[0])


def _u64(data: bytes, place: int) -> int:
    return int(struct.unpack_from("<Q", data, place)[0])
