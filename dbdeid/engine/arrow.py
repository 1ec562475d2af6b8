"""Arrow arrays made from buffers.

`pyarrow.array` loads pandas, to see whether it was given something of pandas': half the time of a
small run. Here the kinds of columns that are uploaded are written as Arrow lays them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dbdeid.engine.relation import digits_of


def array(values: Any) -> pa.Array:
    """Convert a column to Arrow: a numpy array, a range, texts, or an Arrow array as it is."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, range):
        values = np.arange(values.start, values.stop, values.step)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        return _numbers(values, None)
    return texts(values)


def numbers(values: Sequence[float | None], kind: type[np.generic]) -> pa.Array:
    """Numbers of a numpy type, None being NULL."""
    present = np.array([value is not None for value in values], np.bool_)
    filled = np.array([0 if value is None else value for value in values], kind)
    return _numbers(filled, _validity(present))


def texts(values: Sequence[str | None]) -> pa.Array:
    """Texts, None being NULL."""
    present = np.array([value is not None for value in values], np.bool_)
    filled = ["" if value is None else value for value in values]
    whole = "".join(filled).encode()
    lengths = list(map(len, filled))
    if len(whole) != sum(lengths):  # some character takes more bytes than one
        lengths = [len(text.encode()) for text in filled]
    buffers = [_validity(present), _offsets(lengths), pa.py_buffer(whole)]
    return pa.Array.from_buffers(pa.large_string(), len(filled), buffers)


def blobs(values: Sequence[bytes]) -> pa.Array:
    """Bytes as they are."""
    buffers = [None, _offsets(map(len, values)), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(pa.large_binary(), len(values), buffers)


def lists(values: Sequence[Sequence[str] | None]) -> pa.Array:
    """Lists of texts, None being NULL."""
    present = np.array([value is not None for value in values], np.bool_)
    items = texts([item for value in values for item in value or ()])
    buffers = [_validity(present), _offsets(len(value or ()) for value in values)]
    kind = pa.large_list(pa.large_string())
    return pa.Array.from_buffers(kind, len(values), buffers, children=[items])


def _numbers(values: NDArray[Any], validity: pa.Buffer | None) -> pa.Array:
    (length,) = values.shape
    laid = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    return pa.Array.from_buffers(
        pa.from_numpy_dtype(laid.dtype), length, [validity, pa.py_buffer(laid)]
    )


def _validity(present: NDArray[np.bool_]) -> pa.Buffer | None:
    return None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))


def _offsets(lengths: Any) -> pa.Buffer:
    ends = np.cumsum([0, *lengths], dtype=np.int64)
    return pa.py_buffer(ends)


# -- answers -------------------------------------------------------------------------------------

_KINDS = {
    **{"BOOLEAN": pa.bool_(), "TINYINT": pa.int8(), "SMALLINT": pa.int16()},
    **{"INTEGER": pa.int32(), "BIGINT": pa.int64(), "HUGEINT": pa.decimal128(38, 0)},
    **{"UTINYINT": pa.uint8(), "USMALLINT": pa.uint16(), "UINTEGER": pa.uint32()},
    **{"UBIGINT": pa.uint64(), "FLOAT": pa.float32(), "DOUBLE": pa.float64()},
    **{"VARCHAR": pa.string(), "BLOB": pa.binary(), "DATE": pa.date32()},
    **{"TIME": pa.time64("us"), "TIMESTAMP": pa.timestamp("us")},
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"),
    "INTERVAL": pa.duration("us"),
}


def type_of(name: str) -> pa.DataType | None:
    """The Arrow type of values of a type of the engine; None where Arrow has none.

    >>> type_of("DECIMAL(10,2)")
    Decimal128Type(decimal128(10, 2))
    """
    if name.endswith("[]"):
        member = type_of(name[:-2])
        return None if member is None else pa.list_(member)
    if digits := digits_of(name):
        return pa.decimal128(*digits)
    return _KINDS.get(name)


def table(names: Sequence[str], kinds: Sequence[str], rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Rows as an Arrow table; types that Arrow lacks become text.

    Args:
        names: of the columns; two may be alike.
        kinds: their types, as the engine writes them.
        rows: their values.
    """
    columns = []
    for place, name in enumerate(kinds):
        values = [row[place] for row in rows]
        kind = type_of(name)
        if kind is None:
            values = [None if value is None else str(value) for value in values]
        columns.append(pa.array(values, kind or pa.string()))
    return pa.Table.from_arrays(columns, names=list(names))
