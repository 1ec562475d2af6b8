"""What a table of Spark and its Parquet files say beside names, types and rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHAPE = b"org.apache.spark.sql.parquet.row.metadata"
_KEYS = {_SHAPE, b"org.apache.spark.version"}
_LOCAL = ("", "file")


def notes_in(spark: SparkSession, table: str) -> Iterator[str]:
    """Places that hold free text: comments of the catalog, and footers of files.

    Footers of files on this machine are read as they are; those elsewhere as Spark reads them,
    which tells the comments of columns alone.
    """
    frame = spark.table(table)
    for one in frame.schema.fields:
        if one.metadata:
            yield f"column {one.name!r} has a comment, or another note"
    for row in spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect():
        if row[0] == "Comment":
            yield "the table has a comment"
    files = frame.inputFiles()
    local = [unquote(urlsplit(name).path) for name in files if urlsplit(name).scheme in _LOCAL]
    for path in local:
        yield from _in_footer(path)
    others = [name for name in files if urlsplit(name).scheme not in _LOCAL]
    if others:
        merged = spark.read.option("mergeSchema", "true").parquet(*others)
        for one in merged.schema.fields:
            if one.metadata:
                yield f"the files hold a comment on column {one.name!r}"


def _in_footer(path: str) -> Iterator[str]:
    footer = pq.read_metadata(path)
    notes: Mapping[bytes, bytes] = footer.metadata or {}
    if notes.keys() - _KEYS:
        yield "a file has notes in its footer that are not its shape"
    if _SHAPE in notes and not _bare(json.loads(notes[_SHAPE])):
        yield "a file has a comment on a column in its footer"


def _bare(shape: Any) -> bool:
    """Whether a shape in a footer is of names and types alone."""
    if isinstance(shape, Mapping):
        return not shape.get("metadata") and all(map(_bare, shape.values()))
    return not isinstance(shape, Sequence) or isinstance(shape, str) or all(map(_bare, shape))
