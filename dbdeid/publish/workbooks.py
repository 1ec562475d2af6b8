"""A verified table as a workbook (.xlsx), its values as Excel gives them back, or not at all.

Excel has doubles of which it shows 15 digits, truth values, and texts. What it would show, read or
store as something else is refused: an empty text, which is NULL there; signs that XML has no place
for; `_x0041_`, which stands for `A`. Moments and days stay texts, for a day of Excel is a number
that begins in 1900. A text is never a formula, whatever it begins with.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from dbdeid.bind.bound import Bound
from dbdeid.engine.expressions import aliased, cast, column, count_rows, select
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.errors import DataError
from dbdeid.sources.rows import library
from dbdeid.verify.base import file_kinds
from dbdeid.verify.base.workbooks import Kind, kind_of

MOST_RECORDS, MOST_CELLS = 100_000, 1_000_000
_COLUMNS = 16_384  # of a sheet
_CHARACTERS, _LINES = 32_767, 253  # of a cell, in units of UTF-16
_DIGITS = 15
_INSTEAD = "export .csv or .parquet instead"
# Of every file, so that equal releases are equal files.
_MADE = datetime(1980, 1, 1)

_NO_SIGN = re.compile("[^\t\n -\ufffd\U00010000-\U0010ffff]")
_ESCAPE = re.compile(r"_x[0-9a-f]{4}_", re.IGNORECASE)


def require_writer(paths: Iterable[Path]) -> None:
    """Refuse workbooks among files that could not be written, before any work.

    Raises:
        MissingExtra: XlsxWriter is not installed.
    """
    if _first(paths) is not None:
        _writer()


def require_room(paths: Iterable[Path], bound: Bound, session: Session) -> None:
    """Refuse a source of which every release is too large for a workbook, before the search.

    Raises:
        DataError: more records are released than are written to one.
    """
    path, method = _first(paths), bound.spec.method
    if path is None or bound.subject is not None or method.can.values != "generalized":
        return
    (count,) = session.row(select(count_rows()).from_(bound.source.subquery("source")))
    if count * (1 - method.allowed_suppression) > MOST_RECORDS:
        raise _refused(
            path,
            f"a release of {count:,} records has more than the {MOST_RECORDS:,} that are written "
            "to a workbook",
        )


def _first(paths: Iterable[Path]) -> Path | None:
    kinds = (p for p in paths if file_kinds.kind_named(p) == file_kinds.WORKBOOK)
    return next(kinds, None)


def _writer() -> ModuleType:
    return library("xlsxwriter", "XlsxWriter")


def write(session: Session, table: Relation, path: Path) -> None:
    """Write a verified table to a new workbook.

    Args:
        session: where the table is.
        table: with its rows in order.
        path: the file, which does not exist yet; what is unfinished lies beside it meanwhile.

    Raises:
        DataError: the table is too large, or a value would not come back as it is.
        MissingExtra: XlsxWriter is not installed.
    """
    columns = session.describe(table.table)
    _require_small(session, table, columns, path)
    texts = [aliased(cast(column(c.name), "VARCHAR"), c.name) for c in columns]
    cells = [(c.name, _refusing(c.type), _PUTTING[kind_of(c.type)]) for c in columns]
    wrong: dict[tuple[str, str], None] = {}
    with (
        TemporaryDirectory(dir=path.parent) as folder,
        # or texts stand in a list beside the sheet
        _writer().Workbook(str(path), {"constant_memory": True, "tmpdir": folder}) as book,
    ):
        book.set_properties({"created": _MADE})
        sheet = book.add_worksheet()
        for place, c in enumerate(columns):
            if why := _refused_text(c.name):
                raise _refused(path, f"a name of a column {why}")
            sheet.write_string(0, place, c.name)
        rows = _rows(session, select(*texts).from_(table.table))
        for number, row in enumerate(rows, start=1):
            if all(cell is None for cell in row):
                raise _refused(path, "a record is NULL in every column, and would be no row")
            for place, (text, (name, refused, put)) in enumerate(zip(row, cells, strict=True)):
                if text is None:
                    continue
                if why := refused(text):
                    wrong[name, why] = None
                else:
                    put(sheet, number, place, text)
    if wrong:
        told = "; ".join(f"a value of {name!r} {why}" for name, why in wrong)
        raise _refused(path, told)


def _require_small(
    session: Session, table: Relation, columns: tuple[Column, ...], path: Path
) -> None:
    (count,) = session.row(select(count_rows()).from_(table.table))
    if len(columns) > _COLUMNS:
        raise _refused(path, f"{len(columns):,} columns are more than the {_COLUMNS:,} of a sheet")
    if count > MOST_RECORDS or count * len(columns) > MOST_CELLS:
        raise _refused(
            path,
            f"{count:,} records of {len(columns):,} columns are more than the {MOST_RECORDS:,} "
            f"records and {MOST_CELLS:,} cells that are written to a workbook",
        )


def _refused(path: Path, why: str) -> DataError:
    return DataError(f"{path.name}: {why}", hint=_INSTEAD)


def _rows(session: Session, query: Any) -> Iterator[tuple[str | None, ...]]:
    with session.batches(query) as batches:
        for batch in batches:
            yield from zip(*(one.to_pylist() for one in batch.columns), strict=True)


# -- cells -------------------------------------------------------------------------------------


class _Written(float):
    """A number that is written as the engine writes it; the library would round it."""

    def __new__(cls, text: str) -> _Written:
        found = super().__new__(cls, text)
        found.text = text
        return found

    text: str

    def __format__(self, _: str) -> str:
        return self.text


def _refused_text(text: str) -> str:
    """Why Excel would not give a text back; empty where it would."""
    if not text:
        return "is an empty text, which a workbook shows as NULL"
    if _NO_SIGN.search(text):
        return "holds a sign that a workbook has no place for, as a carriage return"
    if _ESCAPE.search(text):
        return "holds what Excel takes for an escaped sign, as _x0041_"
    if text.startswith("<r>") and text.endswith("</r>"):
        return "is what the library takes for a text with fonts"
    if len(text.encode("utf-16-le")) // 2 > _CHARACTERS:
        return f"has more than {_CHARACTERS:,} characters"
    if text.count("\n") > _LINES:
        return f"has more than {_LINES} line feeds"
    return ""


def _refused_float(text: str) -> str:
    value = float(text)
    if not math.isfinite(value):
        return "is NaN or infinite, for which Excel has no number"
    if 0 < abs(value) < sys.float_info.min:
        return "is nearer to 0 than the numbers of Excel"
    return ""


def _refused_exact(text: str) -> str:
    if len(text.lstrip("-").replace(".", "").lstrip("0")) > _DIGITS:
        return f"has more than {_DIGITS} digits, which Excel rounds"
    return ""


def _refusing(type_: str) -> Callable[[str], str]:
    """The check why Excel would not give a value of a type back; it says nothing where it would."""
    if type_ in ("FLOAT", "DOUBLE"):
        return _refused_float
    checks: dict[Kind, Callable[[str], str]] = {
        "text": _refused_text,
        "number": _refused_exact,
        "truth": lambda _: "",
    }
    return checks[kind_of(type_)]


_PUTTING: dict[Kind, Callable[[Any, int, int, str], object]] = {
    "text": lambda sheet, row, place, text: sheet.write_string(row, place, text),
    "number": lambda sheet, row, place, text: sheet.write_number(row, place, _Written(text)),
    "truth": lambda sheet, row, place, text: sheet.write_boolean(row, place, text == "true"),
}
