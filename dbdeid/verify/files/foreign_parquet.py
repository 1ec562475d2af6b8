"""What a Parquet file of any writer holds beside its cells: bytes, and notes of its writer.

Bytes: whatever is in the file belongs to a page of a column, to a Bloom filter or an index of
pages, or to the footer; readers skip all else, so an original could lie there. Zeros, with which
some writers fill up blocks, tell nothing.

Notes: writers keep key-value metadata, mostly names and types of the columns once more. Only what
repeats those is let pass, value by value; of anything else the kind is told, not the content.

The layout is that of parquet.thrift of the Parquet format; pandas' note is specified in its
developer guide, "Storing pandas DataFrame objects in Apache Parquet format".
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from dbdeid.errors import exhausted
from dbdeid.verify.files import footer, note_words
from dbdeid.verify.files.footer import Compact, Struct

if TYPE_CHECKING:
    import pyarrow as pa

ARROW, PANDAS = "ARROW:schema", "pandas"
_SPARK = "org.apache.spark."
_SPARK_SCHEMA = f"{_SPARK}sql.parquet.row.metadata"
_HEADER = 2**20  # of a Bloom filter or page; far more than it takes


def found_wrong(path: Path) -> list[str]:
    """What a file holds that neither its columns nor their names and types account for, in words.

    No value of a note is named.
    """
    try:
        found = footer.read(path)
        wrong = []
        if count := _unaccounted(path, found):
            wrong.append(f"{count} bytes outside its columns and footer")
        return wrong + [f"in the notes of its writer: {what}" for what in _notes(found)]
    except (LookupError, ValueError, TypeError, AttributeError, struct.error, RecursionError):
        return ["a footer that cannot be read"]


# -- bytes ---------------------------------------------------------------------------------


def _unaccounted(path: Path, found: Struct) -> int:
    """How many bytes other than zero no page, filter, index or footer accounts for.

    Parts that overlap account for each byte once.
    """
    with path.open("rb") as file:
        length = file.seek(0, 2)
        file.seek(-8, 2)
        tail = 8 + int.from_bytes(file.read(4), "little")
        parts = sorted([(0, 4), (length - tail, length), *_parts(file, found)])
        count = end = 0
        for start, stop in parts:
            if start > end:
                count += _filled(file, end, start)
            end = max(end, stop)
    return count


def _parts(file: BinaryIO, found: Struct) -> Iterator[tuple[int, int]]:
    for group in found[4]:
        for chunk in group[1]:
            about = chunk[3]
            yield from _pages(file, about)
            for place, size in ((4, 5), (6, 7)):
                if chunk.get(size):
                    yield chunk[place], chunk[place] + chunk[size]
            if 14 in about:
                yield about[14], about[14] + _bloom_filter(file, about)


def _pages(file: BinaryIO, about: Struct) -> Iterator[tuple[int, int]]:
    """The pages of a column chunk, one after the other."""
    start = min(place for number in (9, 10, 11) if (place := about.get(number)))
    end = start + about[7]
    while start < end:
        file.seek(start)
        reader = Compact(file.read(min(_HEADER, end - start)))
        page = reader.struct()
        stop = start + reader.place + page[3]
        if page[3] < 0 or stop > end:
            raise ValueError("a page that ends outside of its column")
        yield start, stop
        start = stop


def _bloom_filter(file: BinaryIO, about: Struct) -> int:
    file.seek(about[14])
    reader = Compact(file.read(_HEADER))
    size = reader.struct()[1]
    return int(reader.place + size)


def _filled(file: BinaryIO, start: int, end: int) -> int:
    """The length of a gap unless it is zeros."""
    file.seek(start)
    data = file.read(end - start)
    return len(data) if data.strip(b"\0") else 0


# -- notes ---------------------------------------------------------------------------------


def _notes(found: Struct) -> Iterator[str]:
    names = set(_columns(found))
    inside = {element[4].decode() for element in found[2][1:]}
    by = str(found.get(6, b"").decode("utf-8", "replace"))
    if by and not note_words.is_writer(by):
        yield "the name of the writer"
    notes: dict[str, bytes] = {}
    for note in found.get(5, []):
        key = note[1].decode("utf-8", "replace")
        if key in notes:
            yield f"{key!r} twice"
        notes[key] = note.get(2, b"")
    for key, value in notes.items():
        try:
            wrong = _wrong(key, value, names, inside, int(found[3]))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            wrong = "what cannot be read"
        if wrong:
            yield f"{wrong} in {key!r}" if key in (ARROW, PANDAS, _SPARK_SCHEMA) else wrong


def _columns(found: Struct) -> Iterator[str]:
    """The names of the columns; what they consist of stands behind each."""
    inside = 0
    for element in found[2][1:]:
        if not inside:
            yield element[4].decode()
        inside += element.get(5, 0) - (1 if inside else 0)


def _wrong(
    key: str, value: bytes, names: Collection[str], inside: Collection[str], rows: int
) -> str | None:
    """What one note holds beyond names and types, `inside` being those of parts of columns too."""
    if key == ARROW:
        return _arrow(value, names, inside, rows)
    if key == PANDAS:
        return _pandas(json.loads(value), names, inside, rows)
    if key == _SPARK_SCHEMA:
        return None if _spark(json.loads(value), names, inside) else "more than names and types"
    if key == f"{_SPARK}version":
        return None if note_words.is_spark_version(value.decode()) else "no version of Spark"
    if key == f"{_SPARK}timeZone":
        return None if note_words.is_zone(value.decode()) else "no time zone"
    if key.startswith(f"{_SPARK}legacy"):
        return None if not value else "more than a mark of Spark's"
    return "key-value metadata of a kind that is not known"


def _arrow(value: bytes, names: Collection[str], inside: Collection[str], rows: int) -> str | None:
    import pyarrow as pa

    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(value, validate=True)))
    except pa.ArrowException as error:
        if exhausted(error):
            raise
        return "what cannot be read"
    if set(schema.names) - set(names):
        return "names of columns that are not there"
    if set(schema.metadata or {}) - {PANDAS.encode()}:
        return "key-value metadata of a kind that is not known"
    if not all(_field(field, inside) for field in schema):
        return "more than names and types"
    about = (schema.metadata or {}).get(PANDAS.encode())
    return None if about is None else _pandas(json.loads(about), names, inside, rows)


def _field(field: pa.Field, names: Collection[str]) -> bool:
    """Whether a field of Arrow's is a type and nothing else, whatever it consists of."""
    import pyarrow as pa

    kind, notes = field.type, {k.decode(): v.decode() for k, v in (field.metadata or {}).items()}
    if isinstance(kind, pa.BaseExtensionType):  # one that is loaded here
        stored = kind.__arrow_ext_serialize__() if isinstance(kind, pa.ExtensionType) else b""
        known, kind = (
            note_words.is_extension(kind.extension_name, stored.decode()),
            kind.storage_type,
        )
    else:
        called, about = (notes.pop(f"ARROW:extension:{part}", "") for part in ("name", "metadata"))
        known = not called or note_words.is_extension(called, about)
    if not notes.pop("PARQUET:field_id", "0").isdigit() or notes or not known:
        return False
    parts = [kind.field(i) for i in range(kind.num_fields)]
    return note_words.is_arrow_type(str(kind), names) and all(_field(p, names) for p in parts)


def _pandas(
    about: Mapping[str, Any], names: Collection[str], inside: Collection[str], rows: int
) -> str | None:
    checks: dict[str, Callable[[Any], bool]] = {
        "index_columns": lambda v: all(_index(one, names, rows) for one in v),
        "column_indexes": lambda v: all(_column(one, (), ()) for one in v),
        "columns": lambda v: all(_column(one, names, inside) for one in v),
        "partition_columns": lambda v: set(v) <= set(names),
        "attributes": lambda v: v == {},
        "creator": _creator,
        "pandas_version": note_words.is_version,
    }
    wrong = [part for part, fits in checks.items() if part in about and not fits(about[part])]
    if set(about) - set(checks):
        return "keys that pandas does not write"
    return f"other than names and types under {', '.join(wrong)}" if wrong else None


def _index(one: Any, names: Collection[str], rows: int) -> bool:
    if isinstance(one, str):
        return one in names
    numbers = [one["start"], one["stop"], one["step"]]
    return (
        set(one) == {"kind", "name", "start", "stop", "step"}
        and one["kind"] == "range"
        and one["name"] is None
        and all(type(n) is int for n in numbers)
        and len(range(*numbers)) == rows
    )


def _column(one: Mapping[str, Any], names: Collection[str], inside: Collection[str]) -> bool:
    keys = {"name", "field_name", "pandas_type", "numpy_type", "metadata"}
    called = [one.get("name"), one.get("field_name")]
    return (
        set(one) <= keys
        and all(name is None or name in names or name == "None" for name in called)
        and all(
            note_words.is_pandas_type(one[key], inside) for key in ("pandas_type", "numpy_type")
        )
        and all(_detail(*item) for item in (one.get("metadata") or {}).items())
    )


def _detail(key: str, value: Any) -> bool:
    match key:
        case "num_categories" | "precision" | "scale":
            return type(value) is int
        case "ordered":
            return type(value) is bool
        case "encoding":
            return bool(value == "UTF-8")
        case "timezone":
            return note_words.is_zone(value)
        case _:
            return False


def _creator(creator: Mapping[str, Any]) -> bool:
    known = creator.get("library", "pyarrow") in ("pyarrow", "fastparquet")
    version = creator.get("version")
    fits = version is None or note_words.is_version(version)
    return known and fits and set(creator) <= {"library", "version"}


def _spark(kind: Any, names: Collection[str], inside: Collection[str]) -> bool:
    """Whether a type of Spark's is a type and nothing else; names are those of its columns."""
    if isinstance(kind, str):
        return note_words.is_spark_type(kind)
    match kind["type"]:
        case "struct":
            return set(kind) == {"type", "fields"} and all(
                set(field) <= {"name", "type", "nullable", "metadata"}
                and field["name"] in names
                and type(field["nullable"]) is bool
                and field["metadata"] == {}
                and _spark(field["type"], inside, inside)
                for field in kind["fields"]
            )
        case "array":
            return set(kind) == {"type", "elementType", "containsNull"} and _spark(
                kind["elementType"], inside, inside
            )
        case "map":
            return set(kind) == {"type", "keyType", "valueType", "valueContainsNull"} and all(
                _spark(kind[part], inside, inside) for part in ("keyType", "valueType")
            )
        case _:
            return False
