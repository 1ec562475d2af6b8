"""Workbooks (.xlsx) opened for the verifier: one sheet of plain cells, and nothing else in it.

A workbook is a zip file of parts in XML (ECMA-376), and most of what it can hold no sheet shows:
properties with names and dates, other sheets, names for cells, texts that no cell uses. Of a
release, all parts but the sheet are the same, so they are held against their digests; the sheet has
one way to write its rows; and the zip file is held, byte by byte, against the only one of its
parts.

Numbers are written as the engine writes them as text, truth values as `1` and `0`, everything else
as the text of its cell. NULL is no cell.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from lzma import LZMAError
from pathlib import Path
from typing import Literal

from dbdeid.engine import regular
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.errors import DataError
from dbdeid.verify.base import file_kinds
from dbdeid.verify.base.declaration import Check

Kind = Literal["number", "truth", "text"]

_NUMBERS = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)")


def kind_of(type_: str) -> Kind:
    """Which kind of cell holds the values of a type.

    >>> kind_of("UINTEGER"), kind_of("DECIMAL(9,2)"), kind_of("BOOLEAN"), kind_of("DATE")
    ('number', 'number', 'truth', 'text')
    """
    if _NUMBERS.fullmatch(type_):
        return "number"
    return "truth" if type_ == "BOOLEAN" else "text"


def exported(
    session: Session, path: Path, declared: Sequence[Column], name: str
) -> tuple[Relation, list[Check]]:
    """The rows of a workbook that a release was written to, under their declared types.

    Args:
        session: any session that keeps the order of rows.
        path: the file.
        declared: the columns that it is to have.
        name: of the temporary table.

    Returns:
        The rows, whether each cell is written as its type is, and whether the file holds nothing
        else. Where a cell is not, all are texts, so that no two of them fall into one class.

    Raises:
        DataError: it cannot be read.
    """
    sheet = _sheet(path)
    container = sheet.container()
    text = session.upload(f"{name}_text", sheet.columns)
    types = {c.name: c.type for c in declared}
    wrong = [
        f"cells of {column!r} are not of the kind in which {types[column]} is written"
        for column, kinds in sheet.kinds.items()
        if column in types and kinds - {kind_of(types[column])}
    ]
    if wrong:
        return text, [container, Check("types", False, "; ".join(wrong))]
    told = "a workbook has few types; every cell reads as its declared type"
    rows, check = file_kinds.typed(session, text, declared, name, told)
    return rows, [container, check]


def foreign(session: Session, path: Path, name: str) -> tuple[Relation, Check]:
    """The rows of a workbook that holds a release, each cell as text.

    Raises:
        DataError: it is none that a release was written to.
    """
    sheet = _sheet(path)
    return session.upload(name, sheet.columns), sheet.container()


# -- the sheet ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sheet:
    """What stands in a workbook.

    Attributes:
        file: its bytes.
        columns: the cells of each column, None where there is none.
        kinds: the kinds of the cells of each column.
        around: what is wrong around its rows, in words.
    """

    file: bytes
    columns: dict[str, list[str | None]]
    kinds: dict[str, set[Kind]]
    around: tuple[str, ...]

    def container(self) -> Check:
        """Whether nothing but these cells is in the file."""
        wrong = dict.fromkeys([*_of_container(self.file), *self.around])
        return Check("container", not wrong, "; ".join(wrong))


_SHEET = "xl/worksheets/sheet1.xml"
_MOST = 2**30  # bytes of a sheet, which is far more than any that is written
_SMALL = 2**20  # of any other part
# What reading a zip file ends with that is none, or is packed in a way that no release is.
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, LZMAError, EOFError, OSError, struct.error),
    *(KeyError, ValueError, NotImplementedError, RuntimeError),
)
_BEFORE = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<worksheet '
    'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
    '<dimension ref="{cells}"/><sheetViews><sheetView tabSelected="1" workbookViewId="0"/>'
    '</sheetViews><sheetFormatPr defaultRowHeight="15"/>'
)
_AFTER = (
    '<pageMargins left="0.7" right="0.7" top="0.75" bottom="0.75" header="0.3" footer="0.3"/>'
    "</worksheet>"
)
_START, _END = "<sheetData>", "</sheetData>"
_ROW = re.compile(r'<row r="([1-9][0-9]{0,6})"([^<>]*)>')
_CELL = re.compile(
    r'<c r="([A-Z]{1,3})([1-9][0-9]{0,6})"(?:><v>(?P<number>[^<>&]+)</v></c>'
    r'| t="b"><v>(?P<truth>[01])</v></c>'
    r'| t="inlineStr"><is><t(?P<kept> xml:space="preserve")?>(?P<text>[^<>]+)</t></is></c>)'
)
_CLOSED = "</row>"
# What XML has no sign for, or reads as another: a carriage return becomes a line feed.
_NO_TEXT = re.compile("[^\t\n\x20-\ufffd\U00010000-\U0010ffff]")
_ESCAPED = re.compile("_x[0-9A-Fa-f]{4}_")  # what some readers take for a sign


def _sheet(path: Path) -> _Sheet:
    """The cells of the sheet of a workbook.

    Raises:
        DataError: there is none, or it has other cells than a release has.
    """
    try:
        data = regular.content(path)
        with zipfile.ZipFile(BytesIO(data)) as file:
            if file.getinfo(_SHEET).file_size > _MOST:
                raise _no_workbook(path, "it is too large")
            text = file.read(_SHEET).decode("utf-8")
    except UnicodeDecodeError:
        raise _no_workbook(path, "not UTF-8 text") from None
    except _UNREADABLE:
        raise _no_workbook(path, "no whole workbook of one sheet") from None
    start, end = text.find(_START), text.rfind(_END)
    if start < 0 or end < start:
        raise _no_workbook(path, "its sheet has no rows")
    wrong: dict[str, None] = {}
    if _NO_TEXT.search(text) or _ESCAPED.search(text):
        wrong["signs that readers take for others"] = None
    rows = _rows(path, text, start + len(_START), end, wrong)
    first = next(rows, [])
    names = [cell for _, _, cell in first]
    plain = [(place, kind) for place, kind, _ in first] == [(i, "text") for i in range(len(names))]
    if not plain or not names or len({n.lower() for n in names}) < len(names):
        raise _no_workbook(path, "its first row does not name its columns")
    cells: list[list[str | None]] = [[] for _ in names]
    kinds: list[set[Kind]] = [set() for _ in names]
    for row in rows:
        found: list[str | None] = [None] * len(names)
        for place, kind, value in row:
            if place >= len(names):
                raise _no_workbook(path, "a row has more cells than the first")
            found[place] = value
            kinds[place].add(kind)
        for column, cell in zip(cells, found, strict=True):
            column.append(cell)
    last = f"{_letters(len(names) - 1)}{len(cells[0]) + 1}"
    before = _BEFORE.format(cells="A1" if last == "A1" else f"A1:{last}")
    if text[:start] != before or text[end + len(_END) :] != _AFTER:
        wrong["more around the rows of its sheet than every release has"] = None
    columns, of = dict(zip(names, cells, strict=True)), dict(zip(names, kinds, strict=True))
    return _Sheet(data, columns, of, tuple(wrong))


def _rows(
    path: Path, text: str, at: int, end: int, wrong: dict[str, None]
) -> Iterator[list[tuple[int, Kind, str]]]:
    """The cells of each row: their column, their kind and their text.

    Raises:
        DataError: there is something else than cells of plain values.
    """
    number = 0
    while at < end:
        number += 1
        row = _ROW.match(text, at)
        if row is None or int(row[1]) != number:
            raise _no_workbook(path, f"row {number} of its sheet is missing, or no row")
        if row[2]:
            wrong["rows that are shown in a way of their own, or hidden"] = None
        at, before = row.end(), -1
        cells: list[tuple[int, Kind, str]] = []
        while not text.startswith(_CLOSED, at):
            cell = _CELL.match(text, at)
            place = -1 if cell is None else _place(cell[1])
            if cell is None or place <= before or int(cell[2]) != number:
                raise _no_workbook(path, f"row {number} has a cell that is no plain value")
            cells.append((place, *_value(cell, wrong)))
            at, before = cell.end(), place
        if not cells:
            raise _no_workbook(path, f"row {number} has no cells")
        at += len(_CLOSED)
        yield cells


def _value(cell: re.Match[str], wrong: dict[str, None]) -> tuple[Kind, str]:
    if (number := cell["number"]) is not None:
        return "number", number
    if (truth := cell["truth"]) is not None:
        return "truth", "true" if truth == "1" else "false"
    raw = cell["text"]
    text = raw.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    again = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if again != raw or bool(cell["kept"]) != (text.strip() != text):
        wrong["texts that are written in another way"] = None
    return "text", text


def _letters(place: int) -> str:
    """The letters of a column, counted from 0."""
    found = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, 26)
        found = chr(ord("A") + letter) + found
    return found


def _place(letters: str) -> int:
    found = 0
    for letter in letters:
        found = 26 * found + ord(letter) - ord("A") + 1
    return found - 1


def _no_workbook(path: Path, why: str) -> DataError:
    return DataError(
        f"{path}: cannot be read as a workbook that holds a release ({why})",
        hint="give one that dbdeid wrote, or save the sheet as CSV and give that",
    )


# -- the container -----------------------------------------------------------------------------

# The parts of every workbook of a release, in their order, with what another one could tell.
_PARTS = {
    "[Content_Types].xml": (
        "c9e07af4a58801f88cc56b609f1a3e4f93f575d8a2eddf54759f8bb134638699",
        "other types of parts",
    ),
    "_rels/.rels": (
        "1285b20099c64699001f9d90ea040ca1c177fa99bc3ae8a841128874820f01a4",
        "other relations of its parts",
    ),
    "xl/_rels/workbook.xml.rels": (
        "075a012b1fb44946d69250bb48a45a73635f2217f3817d017b347b0e65f1af66",
        "other relations of its workbook, as links to other files",
    ),
    _SHEET: ("", ""),
    "xl/workbook.xml": (
        "43fb8fd7534fe4fc258a970c5e5b32929ddf426ea1b4d15c54d2c96e3e0a5822",
        "other sheets or names in its workbook",
    ),
    "xl/styles.xml": (
        "b955eec7bf81e3497213a0e029a3d7837f6dd31fc9c30c829ac7358fe294b23c",
        "other styles",
    ),
    "xl/theme/theme1.xml": (
        "75104b2164c20dab2578383d827deac3a7eec077c3f7c99a4099a551fdebb134",
        "another theme",
    ),
    "docProps/core.xml": (
        "57cb763a9a2b461f845c0368620f847eeeb8d3a03a0a8ba536e1ac96264b6588",
        "names or dates in its properties",
    ),
    "docProps/app.xml": (
        "aaf87fd9766ba5ed8c0542b38411d0c6b1a5980408edf8daebf1ecd5045f2300",
        "names in its properties",
    ),
}
_DATE = (1980, 1, 31, 0, 0, 0)  # of each part
_DOS_DATE = 1 << 5 | 31  # the same in zip files: years since 1980, month, day
_OWNERS = 0o100600 << 16  # a file for its owner only, which says nothing
_UNIX, _VERSION, _DEFLATED = 3, 20, 8


def _of_container(data: bytes) -> Iterator[str]:
    """What a workbook holds beside the rows of its sheet, in words without names of parts."""
    with zipfile.ZipFile(BytesIO(data)) as file:
        parts = file.infolist()
        names = [part.filename for part in parts]
        if more := len([n for n in names if n not in _PARTS]):
            yield f"{more} parts that are of no release"
        elif names != [*_PARTS]:
            yield "parts twice, too few, or in another order"
        if file.comment or any(part.comment for part in parts):
            yield "a comment"
        if any(part.extra for part in parts):
            yield "an extra field"
        if any(part.date_time != _DATE for part in parts):
            yield "a date"
        for part in parts:
            known, what = _PARTS.get(part.filename, ("", ""))
            if not known:
                continue
            try:
                same = part.file_size < _SMALL and sha256(file.read(part)).hexdigest() == known
            except _UNREADABLE:
                same = False
            if not same:
                yield what
    if not _is_whole(data, parts):
        yield "bytes outside of its parts, or marks on them"


def _is_whole(data: bytes, parts: Sequence[zipfile.ZipInfo]) -> bool:
    """Whether a zip file is, byte by byte, the only one of its packed parts.

    The layout is that of section 4.3 of PKWARE's APPNOTE.
    """
    out, listed = bytearray(), bytearray()
    for part in parts:
        name = part.filename.encode()
        start = part.header_offset + 30 + len(name)
        packed = data[start : start + part.compress_size]
        if not _is_packed(packed, part):
            return False
        head = struct.pack("<5H", _VERSION, 0, _DEFLATED, 0, _DOS_DATE)
        head += struct.pack("<3I", part.CRC, len(packed), part.file_size)
        head += struct.pack("<2H", len(name), 0)
        listed += b"PK\1\2" + struct.pack("<2B", _VERSION, _UNIX) + head
        listed += struct.pack("<3H2I", 0, 0, 0, _OWNERS, len(out)) + name
        out += b"PK\3\4" + head + name + packed
    count = len(parts)
    end = struct.pack("<4H2IH", 0, 0, count, count, len(listed), len(out), 0)
    return data == bytes(out + listed) + b"PK\5\6" + end


def _is_packed(data: bytes, part: zipfile.ZipInfo) -> bool:
    """Whether packed bytes are one part and nothing after it."""
    reader = zlib.decompressobj(wbits=-15)
    try:
        found = reader.decompress(data, part.file_size + 1)
    except zlib.error:
        return False
    return reader.eof and not reader.unused_data and len(found) == part.file_size
