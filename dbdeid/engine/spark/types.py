"""The types of Spark as relations spell them, and those of Arrow as Spark has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import types as t

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

_NAMES = {
    **{"string": "VARCHAR", "boolean": "BOOLEAN", "tinyint": "TINYINT", "smallint": "SMALLINT"},
    **{"int": "INTEGER", "bigint": "BIGINT", "float": "FLOAT", "double": "DOUBLE", "date": "DATE"},
    **{"timestamp_ntz": "TIMESTAMP", "timestamp": "TIMESTAMP WITH TIME ZONE", "binary": "BLOB"},
    "array<string>": "VARCHAR[]",
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def type_name(kind: DataType) -> str:
    """A type of Spark as `Column.type` spells it; one that has no other name as Spark does.

    Texts with a collation are such: of them more are equal than have the same bytes.
    """
    text: str = kind.simpleString()
    if digits := _DECIMAL.fullmatch(text):
        return f"DECIMAL({digits[1]},{digits[2]})"
    return _NAMES.get(text, text.upper())


_KINDS: dict[pa.DataType, DataType] = {
    pa.bool_(): t.BooleanType(),
    pa.int8(): t.ByteType(),
    pa.int16(): t.ShortType(),
    pa.int32(): t.IntegerType(),
    pa.int64(): t.LongType(),
    pa.float32(): t.FloatType(),
    pa.float64(): t.DoubleType(),
    pa.date32(): t.DateType(),
    pa.timestamp("us"): t.TimestampNTZType(),
    pa.string(): t.StringType(),
}


def shape_of(rows: pa.Table) -> StructType:
    """The columns of an Arrow table as Spark takes them, timestamps without a time zone."""
    return t.StructType([t.StructField(f.name, _kind(f.type), True) for f in rows.schema])


def _kind(kind: pa.DataType) -> DataType:
    if pa.types.is_decimal(kind):
        return t.DecimalType(kind.precision, kind.scale)
    if pa.types.is_list(kind):
        return t.ArrayType(_kind(kind.value_type))
    return _KINDS[kind]


def plain(rows: pa.Table) -> pa.Table:
    """The rows in those types of Arrow that Spark takes: texts of one kind."""
    fields = [pa.field(f.name, _plain(f.type)) for f in rows.schema]
    return rows.cast(pa.schema(fields))


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_plain(kind.value_type))
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return pa.string() if text or pa.types.is_string_view(kind) else kind
