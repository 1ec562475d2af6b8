"""What a recipient needs to read a release: what values mean, a first question, digests.

It is made of what the public is told of a record, which the release and its dictionary show too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import NamedTuple

from dbdeid.engine.file_names import is_folder
from dbdeid.record.public_record import PublicColumn, PublicRecord
from dbdeid.report.content.commands import sql_name, sql_text

# Files that DuckDB reads by their name alone.
_READ = re.compile(r"\.(parquet|(csv|ndjson|jsonl|json)(\.(gz|zst))?)$")
_ENDS = r"[^\[\]()]*"
# How a label is written, an example by its pattern, and how it is read.
_SHAPES = (
    (rf"\[{_ENDS}, {_ENDS}\)", "from the first end up to, but not including, the second"),
    (rf"\[{_ENDS}, {_ENDS}\]", "from the first end to the second, both included"),
    (r"<=? ?[-\d].*", "open below: every smaller value"),
    (r">=? ?[-\d].*", "open above: every larger value"),
    (r"[^*]+\*+", "begins like this; each * stands for a character that is not told"),
    (r"\*", "any value: nothing is told"),
    (r".*@\d+", "one label that names different values on different levels; the level follows @"),
)


class ColumnGuide(NamedTuple):
    """A column as a recipient reads it."""

    name: str
    released: bool
    type: str | None
    meaning: str
    notes: tuple[str, ...]
    labels: tuple[str, ...]


class Codebook(NamedTuple):
    """What a recipient needs.

    Attributes:
        columns: what the values of each column mean.
        labels: how labels are written, by one that occurs, and how they are read.
        dictionary: the name of the table that lists all labels; None where there is none.
        query: a question that the release answers, in DuckDB; None where its file cannot be named.
        sums: SHA-256 of each file by its name, or of the rows of each table.
        files: whether they are of files.
    """

    columns: tuple[ColumnGuide, ...]
    labels: tuple[tuple[str, str], ...]
    dictionary: str | None
    query: str | None
    sums: tuple[tuple[str, str], ...]
    files: bool


def codebook(record: PublicRecord, files: Mapping[str, str]) -> Codebook:
    """The codebook of a release.

    Args:
        record: what the public may see of it.
        files: SHA-256 of its files by name; empty where it is in none.
    """
    columns = tuple(_column(column, record) for column in record.columns)
    labels = [label for column in columns for label in column.labels]
    sums = dict(_digests(record))
    return Codebook(
        columns,
        tuple(_shapes(labels)),
        f"{record.release}_dictionary" if "dictionary" in sums else None,
        _query(record),
        tuple(sorted((files or sums).items())),
        bool(files),
    )


def _column(column: PublicColumn, record: PublicRecord) -> ColumnGuide:
    released = column.pseudonym or column.role not in ("identifier", "drop")
    notes = [f"why: {column.reason}"] if column.reason else []
    quasi = column.role == "quasi_identifier"
    if quasi and column.level is not None and column.height is not None:
        notes.append(f"level {column.level} of {column.height}")
    elif quasi and record.recoding == "local":
        notes.append("level: class by class")
    shown = column.labels if quasi else ()
    return ColumnGuide(
        column.name,
        released,
        column.released_type or column.type,
        _meaning(column, record) if released else "not released",
        tuple(notes),
        tuple("(missing)" if label is None else label for label in shown),
    )


def _meaning(column: PublicColumn, record: PublicRecord) -> str:
    if column.pseudonym:
        return "a pseudonym: the same for all rows of one person, and known nowhere else"
    if column.role == "synthesize":
        return "drawn anew with the whole record: nobody's value"
    if column.role != "quasi_identifier":
        sensitive = " (sensitive)" if column.role == "sensitive" else ""
        return f"the original value{sensitive}"
    if record.recoding == "means":
        return "the mean, or the most frequent value, of a group of records"
    if record.recoding == "local":
        return "the original value, or a group that contains it; how wide differs by record"
    if column.labels == ("*",):
        return "withheld in every record"
    if column.level == 0:
        return "the original value"
    return "a group of values that contains the original one"


def _shapes(labels: list[str]) -> Iterator[tuple[str, str]]:
    left = list(dict.fromkeys(labels))
    for pattern, read in _SHAPES:
        fitting = [label for label in left if re.fullmatch(pattern, label)]
        if fitting:
            yield fitting[0], read
            left = [label for label in left if label not in fitting]


def _query(record: PublicRecord) -> str | None:
    """How many records have each value of a column: of the file that DuckDB reads by its name."""
    names = [c.name for c in record.columns if c.role in ("quasi_identifier", "synthesize")]
    exports = [name for name in record.exports if not is_folder(PurePath(name))]
    file = next((name for name in exports if _READ.search(name)), None)
    relation = sql_text(file) if file else None
    database = next((name for name in exports if name.endswith(".duckdb")), None)
    if relation is None and database is not None and record.method != "external":
        relation = sql_name(record.release)
    if relation is None or not names:
        return None
    column = sql_name(names[0])
    ask = f"SELECT {column}, count(*) AS records\nFROM {relation}\nGROUP BY ALL ORDER BY ALL;"
    if file is None:
        place = sql_text(str(database))
        return f"ATTACH {place} AS given (READ_ONLY);\nUSE given;\n{ask}"
    return ask


def _digests(record: PublicRecord) -> Iterator[tuple[str, str]]:
    content = record.content
    if content is None:
        return
    for name in ("release", "dictionary", "catalog"):
        table = getattr(content, name)
        if table is not None:
            yield name, table.sha256
