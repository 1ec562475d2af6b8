"""Hierarchy files: headerless CSV, one row a leaf, as ARX and anjana write it."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from pathlib import Path

from dbdeid.errors import HierarchyError

_DELIMITERS = (";", ",", "\t")


def read(column: str, path: Path) -> list[list[str]]:
    """The rows of a hierarchy file; the delimiter is the one that splits the rows most evenly.

    Raises:
        HierarchyError: the file is missing, not readable as UTF-8 CSV, or empty.
    """
    where = f"hierarchy of column {column!r}: {path}"
    text = _text(path, where)
    parsed = [_parse(text, delimiter, where) for delimiter in _DELIMITERS]
    rows = max(parsed, key=_evenness)
    if not rows:
        raise HierarchyError(f"{where} is empty", hint="give one row for each value")
    return rows


def _text(path: Path, where: str) -> str:
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        raise HierarchyError(
            f"{where} does not exist", hint="paths are relative to the spec"
        ) from None
    except UnicodeDecodeError:
        raise HierarchyError(f"{where} is not UTF-8 text", hint="save it as UTF-8 CSV") from None
    except (OSError, EOFError, zlib.error) as error:
        raise HierarchyError(f"{where} cannot be read ({type(error).__name__})") from None


def _parse(text: str, delimiter: str, where: str) -> list[list[str]]:
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        return []
    return [row for row in rows if row]


def _evenness(rows: list[list[str]]) -> tuple[bool, float, int]:
    """Prefer a delimiter that splits at all, then rows of one width, then more cells."""
    if not rows:
        return False, 0.0, 0
    widths = [len(row) for row in rows]
    common = max(set(widths), key=widths.count)
    return common > 1, widths.count(common) / len(widths), common
