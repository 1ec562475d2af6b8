"""The footer of a Parquet file, read field by field: what is in it, and whether it tells the truth.

Readers skip the fields that they do not know and believe the statistics: an original could hide in
the ones, and in the others could stand the smallest and largest value of rows that were removed.
So each field has to be one that DuckDB writes, and the statistics those of the values.

The footer is a struct of Thrift's compact protocol, as in parquet.thrift of the Parquet format.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from decimal import Context
from pathlib import Path
from typing import Any

from dbdeid.errors import exhausted

CREATED_BY = re.compile(r"DuckDB version v\d+\.\d+\.\d+(-\w+)? \(build [0-9a-f]{6,40}\)")

Struct = dict[int, Any]

# Allowed fields by their numbers; of a struct, or of each of a list, those inside. None: a plain
# value, which must be a number, or one that is judged elsewhere.
_LOGICAL: Mapping[int, Any] = {n: {1: None, 2: {1: {}, 2: {}, 3: {}}} for n in range(1, 17)}
_NOTES = {1: None, 2: None}  # key-value metadata: see verify.container
_STATISTICS = dict.fromkeys(range(1, 10))
_CHUNK = {
    **dict.fromkeys((1, 2, 3, 4, 5, 6, 7, 9, 11, 14, 15)),
    8: _NOTES,
    12: _STATISTICS,
    13: {1: None, 2: None, 3: None},
}
_ELEMENT = {**dict.fromkeys(range(1, 10)), 10: _LOGICAL}
_GROUP = {1: {2: None, 3: _CHUNK}, **dict.fromkeys((2, 3, 5, 6, 7))}
_FILE: Mapping[int, Any] = {
    1: None,
    2: _ELEMENT,
    3: None,
    4: _GROUP,
    5: _NOTES,
    6: None,
    7: {1: {}, 2: {}},
}
# Texts stand only here: names of columns, who wrote the file, and the ends of statistics.
_TEXTS = {"2.4", "4.1.3.3", "4.1.3.8.1", "4.1.3.8.2", "5.1", "5.2", "6"}
_TEXTS |= {f"4.1.3.12.{n}" for n in (1, 2, 5, 6)}

_NUMBERS = {1: "<i", 2: "<q", 4: "<f", 5: "<d"}  # by the physical type of a column
_EXACT = Context(prec=80)
_BOOLEAN, _BYTES, _FIXED = 0, 6, 7
_MIN_MAX = ((2, 1), (6, 5))  # deprecated, and in their order
_GREATEST, _GREATEST_EXACT, _LEAST_EXACT = (1, 5), 7, 8
_NULLS, _DISTINCT, _NANS = 3, 4, 9


def found_wrong(path: Path) -> list[str]:
    """What in the footer of a file that DuckDB wrote is not as DuckDB writes it, in words.

    No value is named.
    """
    try:
        footer = read(path)
    except (ValueError, IndexError, struct.error, RecursionError):
        return ["a footer that cannot be read"]
    wrong = []
    if odd := sorted(set(_foreign(footer, _FILE))):
        wrong.append(f"fields {', '.join(odd)} in the footer, which DuckDB does not write")
    if not CREATED_BY.fullmatch(_as_text(footer.get(6))):
        wrong.append("not written by DuckDB")
    if wrong:
        return wrong
    import pyarrow as pa

    try:
        lies = sorted(set(_lies(path, footer)))
    except (pa.ArrowException, OSError) as error:  # what was not read has no true statistics
        if exhausted(error):
            raise
        return ["columns that Arrow cannot read, and statistics that cannot be recomputed"]
    names = ", ".join(map(repr, lies))
    return [f"statistics of {names} in the footer are not those of its values"] if lies else []


# -- Thrift's compact protocol -------------------------------------------------------------


def read(path: Path) -> Struct:
    """The footer.

    Raises:
        ValueError: it is none, or there is more in its bytes.
    """
    with path.open("rb") as file:
        file.seek(-8, 2)
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        file.seek(-8 - length, 2)
        data = file.read(length)
    if end[4:] != b"PAR1":
        raise ValueError("not a plain Parquet file")
    reader = Compact(data)
    footer = reader.struct()
    if reader.place != length:
        raise ValueError("bytes after the footer")
    return footer


class Compact:
    """Reads structs as the values of their fields by number; enough for Parquet's footer."""

    def __init__(self, data: bytes) -> None:
        self._data, self.place = data, 0

    def struct(self) -> Struct:
        """The next struct.

        Raises:
            ValueError: it is none.
            IndexError: it ends too early.
        """
        found: Struct = {}
        last = 0
        while head := self._byte():
            last = last + (head >> 4) if head >> 4 else self._zigzag()
            if last in found:
                raise ValueError("a field twice")
            found[last] = self._value(head & 15)
        return found

    def _value(self, kind: int) -> Any:
        match kind:
            case 1 | 2:
                return kind == 1
            case 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._zigzag()
            case 7:
                return struct.unpack("<d", self._bytes(8))[0]
            case 8:
                return self._bytes(self._varint())
            case 9 | 10:
                return self._list()
            case 12:
                return self.struct()
            case _:
                raise ValueError("a kind of field that Parquet has not")

    def _list(self) -> list[Any]:
        head = self._byte()
        size, kind = head >> 4, head & 15
        if size == 15:
            size = self._varint()
        if kind in (1, 2):
            return [self._byte() == 1 for _ in range(size)]
        return [self._value(kind) for _ in range(size)]

    def _byte(self) -> int:
        self.place += 1
        return self._data[self.place - 1]

    def _bytes(self, size: int) -> bytes:
        self.place += size
        if self.place > len(self._data):
            raise ValueError("ends too early")
        return self._data[self.place - size : self.place]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)


def _foreign(found: Struct, allowed: Mapping[int, Any], place: str = "") -> Iterator[str]:
    """Places of fields that are not allowed, and of texts where none may stand."""
    for number, value in found.items():
        here = f"{place}.{number}" if place else str(number)
        inside = allowed.get(number)
        if number not in allowed:
            yield here
            continue
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                if inside is None:
                    yield here
                else:
                    yield from _foreign(one, inside, here)
            elif isinstance(one, (bytes, list)) and here not in _TEXTS:
                yield here


def _as_text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


# -- statistics ----------------------------------------------------------------------------


def _lies(path: Path, footer: Struct) -> Iterator[str]:
    """Columns with statistics that are not those of their values, which are read without them."""
    import pyarrow.parquet as pq

    kinds = {
        place: (element.get(1), element.get(6), element.get(10, {}))
        for place, element in enumerate(e for e in footer[2] if 1 in e)
    }
    known = pq.read_metadata(path)
    columns = [known.schema.column(i) for i in range(known.num_columns)]
    texts = [
        c.path for c in columns if c.physical_type == "BYTE_ARRAY" and not c.max_repetition_level
    ]
    if {"DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"} & _encodings(known):
        texts = []  # which Arrow cannot read so
    # so that each text is looked at once
    with pq.ParquetFile(path, metadata=known, read_dictionary=texts) as file:
        if sum(int(group[3]) for group in footer[4]) != footer[3]:
            yield "the number of rows"
        for number, group in enumerate(footer[4]):
            if all(12 not in chunk[3] for chunk in group[1]):
                continue
            rows = file.read_row_group(number)
            if rows.num_rows != group[3] or rows.num_columns != len(group[1]):
                yield "the number of rows"
                continue
            for place, chunk in enumerate(group[1]):
                told = chunk[3].get(12, {})
                name = ".".join(_as_text(part) for part in chunk[3][3][:1])
                if told and not _true(told, rows.column(place), kinds[place]):
                    yield name


def _encodings(known: Any) -> set[str]:
    """The names of all encodings of a file."""
    groups = [known.row_group(i) for i in range(known.num_row_groups)]
    return {e for g in groups for i in range(g.num_columns) for e in g.column(i).encodings}


def _true(told: Struct, cells: Any, kind: tuple[int, int | None, Struct]) -> bool:
    """Whether the statistics of a chunk are those of its cells."""
    import pyarrow as pa
    import pyarrow.compute as pc

    levels = len(cells)
    if pa.types.is_list(cells.type):
        lengths = pc.list_value_length(cells)
        with_some = int(pc.sum(lengths.cast(pa.bool_())).as_py() or 0)
        # a list without an element, or a missing one, is a level too
        levels = int(pc.sum(lengths).as_py() or 0) + len(cells) - with_some
        cells = pc.list_flatten(cells)
    there = cells.drop_null()
    nulls = levels - len(there)
    if told.get(_NULLS, nulls) != nulls:
        return False
    if pa.types.is_dictionary(there.type):
        used = [one.dictionary.take(one.indices.unique()) for one in there.chunks]
        there = pa.chunked_array(used, there.type.value_type)
    if pa.types.is_floating(there.type):
        nan = pc.is_nan(there)
        nans = int(pc.sum(nan).as_py() or 0)
        if told.get(_NANS, nans) != nans:
            return False
        of_numbers = there.filter(pc.invert(nan)) if nans else there
    else:
        if _NANS in told:
            return False
        of_numbers = there
    if _DISTINCT in told and told[_DISTINCT] != int(pc.count_distinct(there).as_py()):
        return False
    low, high = _ends(of_numbers)
    for at_low, at_high in _MIN_MAX:
        for number, wanted in ((at_low, low), (at_high, high)):
            if number in told and not (len(of_numbers) and _is_end(told, number, wanted, kind)):
                return False
    return True


def _is_end(told: Struct, number: int, wanted: Any, kind: tuple[int, int | None, Struct]) -> bool:
    """Whether an end is that of the values, or the beginning of a long text, if it says so.

    DuckDB cuts long texts; the greatest is raised by one then, so that none is above it.
    """
    if _number(told[number], kind) == wanted:
        return True
    greatest = number in _GREATEST
    cut = told[number]
    exact = told.get(_GREATEST_EXACT if greatest else _LEAST_EXACT)
    if kind[0] != _BYTES or exact is not False or not cut:
        return False
    if greatest:
        cut = cut[:-1] + bytes([max(cut[-1] - 1, 0)])
    return len(cut) < len(wanted) and wanted.startswith(cut)


def _ends(cells: Any) -> tuple[Any, Any]:
    """The smallest and the largest, as the footer writes them: bytes or numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(cells):
        return None, None
    kind = cells.type
    if pa.types.is_date32(kind):
        cells = cells.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        cells = cells.cast(pa.int64())
    elif pa.types.is_string(kind):
        cells = cells.cast(pa.binary())
    ends = pc.min_max(cells).as_py()
    low, high = ends["min"], ends["max"]
    if pa.types.is_decimal(kind):
        low, high = (int(end.scaleb(kind.scale, _EXACT)) for end in (low, high))
    return low, high


def _number(written: bytes, kind: tuple[int, int | None, Struct]) -> Any:
    """The end of a statistic as a number, or as its bytes where it is text."""
    physical, converted, logical = kind
    if physical == _BOOLEAN:
        return written == b"\x01"
    if physical == _FIXED:
        return int.from_bytes(written, "big", signed=True)
    if physical == _BYTES:
        return written
    form = _NUMBERS[physical]
    unsigned = converted in range(11, 15) or logical.get(10, {}).get(2) is False
    (number,) = struct.unpack(form.upper() if unsigned else form, written)
    return number
