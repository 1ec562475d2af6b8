"""Hierarchy files: headerless CSV, one row a leaf, as ARX and anjana write it."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections import Counter
from pathlib import Path

from dbdeid.engine import regular
from dbdeid.errors import HierarchyError

_DELIMITERS = (";", ",", "\t", "|")


def read(column: str, path: Path) -> list[list[str]]:
    """The rows of a hierarchy file; the delimiter is the one that splits the rows most evenly.

    Raises:
        HierarchyError: the file is missing, not readable as UTF-8 CSV, or empty.
    """
    where = f"hierarchy of column {column!r}: {path}"
    text = _text(path, where)
    if not text.strip("\r\n"):
        raise HierarchyError(f"{where} is empty", hint="give one row for each value")
    parsed = {delimiter: rows for delimiter in _DELIMITERS if (rows := _parse(text, delimiter))}
    readable = len(parsed) == len(_DELIMITERS)
    if any(_evenness(parsed.get(sure, [[]]))[:2] == (True, 1) for sure in (";", "\t")):
        parsed.pop("|", None)  # it stands inside labels
    rows = max(parsed.values(), key=_evenness, default=[])
    if not rows or not (readable or _evenness(rows)[0]):
        raise HierarchyError(
            f"{where} is not a CSV file that can be read",
            hint="check that every quotation mark is closed at the end of its cell",
        )
    return _unpadded(rows)


def _unpadded(rows: list[list[str]]) -> list[list[str]]:
    """Without the blank that follows the delimiter, when it follows every one: `a, x, *`."""
    if any(not cell.startswith(" ") for row in rows for cell in row[1:]):
        return rows
    return [[row[0], *(cell.lstrip(" ") for cell in row[1:])] for row in rows]


def _text(path: Path, where: str) -> str:
    try:
        data = regular.content(path)
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        raise HierarchyError(
            f"{where} does not exist",
            hint="paths are relative to the spec, or to the hierarchies of its project",
        ) from None
    except UnicodeDecodeError:
        raise HierarchyError(f"{where} is not UTF-8 text", hint="save it as UTF-8 CSV") from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise HierarchyError(
            f"{where} is not a whole gzip file", hint="compress it again, or give plain CSV"
        ) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no path of a file"
        raise HierarchyError(
            f"{where} cannot be read ({why})", hint="give a CSV file, relative to the spec"
        ) from None


def _parse(text: str, delimiter: str) -> list[list[str]]:
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        return []
    return [row for row in rows if row]


def _evenness(rows: list[list[str]]) -> tuple[bool, float, bool, int]:
    """Prefer a delimiter that splits at all, rows of one width, no list inside a label, more cells.

    A comma that a blank follows in every row stands inside labels: `[0, 5)`, `{a, b, c}`.
    """
    widths = Counter(map(len, rows))
    common, count = widths.most_common(1)[0]
    listed = all(any(cell.startswith(" ") for cell in row[1:]) for row in rows)
    return common > 1, count / len(rows), not listed, common
