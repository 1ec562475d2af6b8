"""Releases in workbooks: what is verified, and mutants of sheet, parts and container."""

from __future__ import annotations

import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import fastexcel
import openpyxl
import pytest
import xlsxwriter
from handmade import DECLARED, Release, detail, failed, handmade

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Relation
from dbdeid.errors import DataError
from dbdeid.verify import Verification, contents, verify_bare, verify_file
from dbdeid.verify.base import workbooks
from dbdeid.verify.files.content import Content

SHEET = "xl/worksheets/sheet1.xml"
BOOK, LINKS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
CORE, APP = "docProps/core.xml", "docProps/app.xml"
NAME = "patient 1"


@dataclass(frozen=True)
class Shelf:
    """A workbook of a release and that of its dictionary, written once."""

    folder: Path
    release: Release
    content: Content | None

    def copied(self, folder: Path) -> tuple[Path, Path]:
        one, other = (
            Path(shutil.copy(self.folder / name, folder))
            for name in ("ward.xlsx", "ward_dictionary.xlsx")
        )
        return one, other


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    folder, release = tmp_path_factory.mktemp("shelf"), handmade()
    release.write(folder / "ward.xlsx")
    with Session.over(release.con, None, read_only=True) as session:
        tables = Relation("ward"), Relation("ward_dictionary"), None
        content = contents(session, DECLARED, *tables)
    return Shelf(folder, release, content)


def looked_at(path: Path, dictionary: Path) -> Verification | DataError:
    try:
        return verify_file(path, DECLARED, dictionary=dictionary)
    except DataError as error:
        return error


def test_a_release_is_verified_and_another_program_reads_its_rows(
    shelf: Shelf, tmp_path: Path
) -> None:
    path, dictionary = shelf.copied(tmp_path)
    found = verify_file(path, DECLARED, dictionary=dictionary, same_as=shelf.content)
    assert found.verified, found.failures
    assert {"container", "types", "content"} <= {c.check for c in found.hygiene}
    sheet = fastexcel.read_excel(path).load_sheet(0, schema_sample_rows=None).to_arrow()
    assert sheet.schema.names == [c.name for c in DECLARED.columns]
    rows = [tuple(row.values()) for row in sheet.to_pylist()]
    assert rows == shelf.release.con.execute("FROM ward").fetchall()


def test_anyone_verifies_such_a_workbook(shelf: Shelf, tmp_path: Path) -> None:
    path, _ = shelf.copied(tmp_path)
    found = verify_bare(path, DECLARED.quasi_identifiers, 5)
    assert found.verified, found.failures
    assert "k_anonymity" in failed(verify_bare(path, DECLARED.quasi_identifiers, 11))
    workbook(path).changed(CORE, "<dc:creator>", f"<dc:creator>{NAME}").write(path)
    assert failed(verify_bare(path, DECLARED.quasi_identifiers, 5)) == {"container"}


def test_an_empty_release(tmp_path: Path) -> None:
    release = handmade().promise(suppression_limit=1.0)
    release.sql("CREATE OR REPLACE TABLE ward AS FROM ward LIMIT 0")
    release.sql("CREATE OR REPLACE TABLE ward_dictionary AS FROM ward_dictionary LIMIT 0")
    found = release.publish(tmp_path / "ward.xlsx")
    assert found.verified, found.failures


def test_a_workbook_of_another_program_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "others.xlsx"
    with xlsxwriter.Workbook(path) as book:  # its texts lie in a list of their own
        book.add_worksheet().write_column(0, 0, ["sex", NAME])
    with pytest.raises(DataError, match="save the sheet as CSV") as caught:
        verify_bare(path, ("sex",), 2)
    assert NAME not in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"PK", b"age,zip\n1,2\n", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_workbook(shelf: Shelf, tmp_path: Path, data: bytes) -> None:
    path, _ = shelf.copied(tmp_path)
    path.write_bytes(data)
    with pytest.raises(DataError, match="cannot be read as a workbook"):
        verify_bare(path, ("sex",), 2)


# -- the parts -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """A part of a zip file, as its bytes are."""

    name: str
    text: bytes
    date: int = 1 << 5 | 31
    time: int = 0
    flags: int = 0
    method: int = 8
    system: int = 3
    rights: int = 0o100600 << 16
    extra: bytes = b""
    listed_extra: bytes = b""
    comment: bytes = b""
    before: bytes = b""
    after: bytes = b""  # what is packed
    listed: bool = True

    def packed(self) -> bytes:
        if self.method == 0:
            return self.text
        deflated = zlib.compressobj(-1, zlib.DEFLATED, -15)
        return deflated.compress(self.text) + deflated.flush() + self.after


@dataclass(frozen=True)
class Zipped:
    """A zip file, part by part."""

    parts: tuple[Part, ...]
    comment: bytes = b""
    start: bytes = b""
    between: bytes = b""  # the parts and their list
    end: bytes = b""
    disk: int = 0
    more: tuple[Part, ...] = field(default=())

    def part(self, name: str, **changes: object) -> Zipped:
        parts = [replace(p, **changes) if p.name == name else p for p in self.parts]  # type: ignore[arg-type]
        return replace(self, parts=tuple(parts))

    def changed(self, name: str, old: str, new: str) -> Zipped:
        (part,) = (p for p in self.parts if p.name == name)
        text = part.text.decode()
        assert old in text
        return self.part(name, text=text.replace(old, new, 1).encode())

    def added(self, name: str, text: str = "<a/>", **how: object) -> Zipped:
        part = Part(name, text.encode(), **how)  # type: ignore[arg-type]
        return replace(self, parts=(*self.parts, part))

    def write(self, path: Path) -> None:
        out, listed, count = bytearray(self.start), bytearray(), 0
        for part in self.parts:
            out += part.before
            data, name = part.packed(), part.name.encode()
            head = struct.pack("<5H", 20, part.flags, part.method, part.time, part.date)
            head += struct.pack("<3I", zlib.crc32(part.text), len(data), len(part.text))
            if part.listed:
                count += 1
                listed += b"PK\1\2" + bytes([20, part.system]) + head
                listed += struct.pack("<2H", len(name), len(part.listed_extra))
                listed += struct.pack("<3H2I", len(part.comment), 0, 0, part.rights, len(out))
                listed += name + part.listed_extra + part.comment
            out += b"PK\3\4" + head + struct.pack("<2H", len(name), len(part.extra))
            out += name + part.extra + data
        out += self.between
        end = struct.pack("<4H2IH", 0, 0, count, count, len(listed), len(out), len(self.comment))
        path.write_bytes(bytes(out + listed) + b"PK\5\6" + end + self.comment + self.end)


def workbook(path: Path) -> Zipped:
    with zipfile.ZipFile(path) as file:
        return Zipped(tuple(Part(p.filename, file.read(p)) for p in file.infolist()))


def test_these_tests_write_a_workbook_as_it_is(shelf: Shelf, tmp_path: Path) -> None:
    path, _ = shelf.copied(tmp_path)
    before = path.read_bytes()
    workbook(path).write(path)
    assert path.read_bytes() == before


Mutant = Callable[[Zipped], Zipped]
OF_BOOK = '<sheet name="Sheet1" sheetId="1" r:id="rId1"/>'
PARTS: dict[str, tuple[Mutant, str]] = {
    "a part": (lambda z: z.added(f"{NAME}.xml"), "1 parts that are of no release"),
    "custom properties": (
        lambda z: z.added("docProps/custom.xml", f"<a>{NAME}</a>"),
        "1 parts that are of no release",
    ),
    "shared strings that no cell uses": (
        lambda z: z.added("xl/sharedStrings.xml", f"<sst><si><t>{NAME}</t></si></sst>"),
        "1 parts that are of no release",
    ),
    "comments": (
        lambda z: z.added("xl/comments1.xml", f"<a>{NAME}</a>"),
        "1 parts that are of no release",
    ),
    "a hidden sheet": (
        lambda z: (
            z.added("xl/worksheets/sheet2.xml", f"<a>{NAME}</a>")
            .changed(BOOK, OF_BOOK, f'{OF_BOOK}<sheet name="{NAME}" state="hidden" r:id="rId9"/>')
            .changed(LINKS, "</Relationships>", '<Relationship Id="rId9"/></Relationships>')
        ),
        "other sheets or names in its workbook",
    ),
    "a part twice": (
        lambda z: z.added(CORE, f"<dc:creator>{NAME}</dc:creator>"),
        "parts twice, too few, or in another order",
    ),
    "parts in another order": (
        lambda z: replace(z, parts=z.parts[::-1]),
        "parts twice, too few, or in another order",
    ),
    "a part less": (
        lambda z: replace(z, parts=z.parts[:-1]),
        "parts twice, too few, or in another order",
    ),
    "an author": (
        lambda z: z.changed(CORE, "<dc:creator>", f"<dc:creator>{NAME}"),
        "names or dates in its properties",
    ),
    "the date of today": (
        lambda z: z.changed(CORE, "1980-01-01T00:00:00Z", "2024-05-06T07:08:09Z"),
        "names or dates in its properties",
    ),
    "a company": (lambda z: z.changed(APP, "<Company>", f"<Company>{NAME}"), "names in its"),
    "a name of cells": (
        lambda z: z.changed(
            BOOK,
            "</sheets>",
            f'</sheets><definedNames><definedName name="a" hidden="1">"{NAME}"</definedName>'
            "</definedNames>",
        ),
        "other sheets or names in its workbook",
    ),
    "another name of the sheet": (
        lambda z: z.changed(BOOK, 'name="Sheet1"', f'name="{NAME}"'),
        "other sheets or names in its workbook",
    ),
    "a link to another file": (
        lambda z: z.changed(
            LINKS,
            "</Relationships>",
            f'<Relationship Id="rId9" Target="file:///{NAME}" TargetMode="External"/>'
            "</Relationships>",
        ),
        "other relations of its workbook",
    ),
    "a relation of the file": (
        lambda z: z.changed(
            "_rels/.rels", "</Relationships>", '<Relationship Id="r"/></Relationships>'
        ),
        "other relations of its parts",
    ),
    "a type": (
        lambda z: z.changed("[Content_Types].xml", "</Types>", '<Default Extension="x"/></Types>'),
        "other types of parts",
    ),
    "a style": (
        lambda z: z.changed("xl/styles.xml", "Calibri", NAME),
        "other styles",
    ),
    "a theme": (lambda z: z.changed("xl/theme/theme1.xml", "Office Theme", NAME), "another theme"),
}

# -- the container -------------------------------------------------------------------------------

FIELD = struct.pack("<2H", 0x6375, len(NAME)) + NAME.encode()
MARKS = "bytes outside of its parts, or marks on them"
CONTAINER: dict[str, tuple[Mutant, str]] = {
    "a comment": (lambda z: replace(z, comment=NAME.encode()), "a comment"),
    "a comment on a part": (lambda z: z.part(BOOK, comment=NAME.encode()), "a comment"),
    "an extra field in the list": (lambda z: z.part(BOOK, listed_extra=FIELD), "an extra field"),
    "an extra field of a part": (lambda z: z.part(BOOK, extra=FIELD), MARKS),
    "another date": (lambda z: z.part(SHEET, date=44 << 9 | 5 << 5 | 6), "a date"),
    "another time": (lambda z: z.part(SHEET, time=7 << 11), "a date"),
    "another system": (lambda z: z.part(SHEET, system=0), MARKS),
    "other rights": (lambda z: z.part(SHEET, rights=0o100644 << 16), MARKS),
    "a flag": (lambda z: z.part(SHEET, flags=0x800), MARKS),
    "a part that is not packed": (lambda z: z.part(SHEET, method=0), MARKS),
    "bytes before the first part": (lambda z: replace(z, start=NAME.encode()), MARKS),
    "bytes before a part": (lambda z: z.part(BOOK, before=NAME.encode()), MARKS),
    "bytes after what is packed": (lambda z: z.part(SHEET, after=NAME.encode()), MARKS),
    "bytes before the list": (lambda z: replace(z, between=NAME.encode()), MARKS),
    "bytes after the end": (lambda z: replace(z, end=NAME.encode()), MARKS),
    "a zero after the end": (lambda z: replace(z, end=b"\0"), MARKS),
    "a part that is not listed": (lambda z: z.added("a.xml", NAME, listed=False), MARKS),
}


@pytest.mark.parametrize(
    ("change", "words"), [*PARTS.values(), *CONTAINER.values()], ids=[*PARTS, *CONTAINER]
)
def test_what_a_workbook_hides(shelf: Shelf, tmp_path: Path, change: Mutant, words: str) -> None:
    path, dictionary = shelf.copied(tmp_path)
    change(workbook(path)).write(path)
    found = looked_at(path, dictionary)
    assert isinstance(found, Verification), found
    assert "container" in failed(found)
    assert words in detail(found, "container")
    assert NAME not in str(found)


@pytest.mark.parametrize("name", ["an author", "bytes after the end", "a comment"])
def test_a_dictionary_is_looked_at_too(shelf: Shelf, tmp_path: Path, name: str) -> None:
    path, dictionary = shelf.copied(tmp_path)
    change, words = (PARTS | CONTAINER)[name]
    change(workbook(dictionary)).write(dictionary)
    found = looked_at(path, dictionary)
    assert isinstance(found, Verification)
    assert words in detail(found, "container")


# -- the sheet -----------------------------------------------------------------------------------


def around(old: str, new: str) -> Mutant:
    return lambda z: z.changed(SHEET, old, new)


def cell(pattern: str, new: str) -> Mutant:
    """The first cell below the names that fits, changed."""

    def changed(z: Zipped) -> Zipped:
        (part,) = (p for p in z.parts if p.name == SHEET)
        head, row, rest = part.text.decode().partition('<row r="3">')
        again, count = re.subn(pattern, new, rest, count=1)
        assert count == 1
        assert again != rest
        return z.part(SHEET, text=(head + row + again).encode())

    return changed


TEXT = r'<c r="([A-Z]+\d+)" t="inlineStr"><is><t>([^<]*)</t></is></c>'
NUMBER = r'<c r="([A-Z]+\d+)"><v>(\d+)</v></c>'
AROUND = "more around the rows of its sheet"
SHEETS: dict[str, tuple[Mutant, str]] = {
    "a hidden row": (around('<row r="3">', '<row r="3" hidden="1">'), "or hidden"),
    "a row of no height": (
        around('<row r="3">', '<row r="3" ht="0" customHeight="1">'),
        "or hidden",
    ),
    "a hidden column": (
        around("<sheetData>", '<cols><col min="1" max="1" hidden="1"/></cols><sheetData>'),
        AROUND,
    ),
    "properties of the sheet": (
        around("<dimension", f'<sheetPr codeName="{NAME}"/><dimension'),
        AROUND,
    ),
    "other dimensions": (around('ref="A1:', 'ref="A1:Z'), AROUND),
    "another view": (around('tabSelected="1"', 'tabSelected="1" topLeftCell="A9"'), AROUND),
    "a filter": (around("</sheetData>", '</sheetData><autoFilter ref="A1:A3"/>'), AROUND),
    "merged cells": (
        around("</sheetData>", '</sheetData><mergeCells><mergeCell ref="A2:A3"/></mergeCells>'),
        AROUND,
    ),
    "a header on paper": (
        around(
            "</worksheet>",
            f"<headerFooter><oddHeader>{NAME}</oddHeader></headerFooter></worksheet>",
        ),
        AROUND,
    ),
    "drawn comments": (around("</worksheet>", '<legacyDrawing r:id="rId1"/></worksheet>'), AROUND),
    "a list of values to choose": (
        around(
            "<pageMargins",
            f"<dataValidations><dataValidation><formula1>{NAME}</formula1></dataValidation>"
            "</dataValidations><pageMargins",
        ),
        AROUND,
    ),
    "a comment of XML before": (around("<worksheet", f"<!--{NAME}--><worksheet"), AROUND),
    "a comment of XML after": (around("</worksheet>", f"</worksheet><!--{NAME}-->"), AROUND),
    "a letter written otherwise": (
        cell(TEXT, r'<c r="\1" t="inlineStr"><is><t>&amp;lt;\2</t></is></c>'),
        "",
    ),
    "spaces that are kept without need": (
        cell(TEXT, r'<c r="\1" t="inlineStr"><is><t xml:space="preserve">\2</t></is></c>'),
        "texts that are written in another way",
    ),
    "spaces that may be lost": (
        cell(TEXT, r'<c r="\1" t="inlineStr"><is><t> \2</t></is></c>'),
        "texts that are written in another way",
    ),
    "a text in another way": (
        cell(TEXT, r'<c r="\1" t="inlineStr"><is><t>&#65;\2</t></is></c>'),
        "texts that are written in another way",
    ),
    "an escaped sign": (
        cell(TEXT, r'<c r="\1" t="inlineStr"><is><t>_x0041_\2</t></is></c>'),
        "signs that readers take for others",
    ),
    "a carriage return": (
        cell(TEXT, '<c r="\\1" t="inlineStr"><is><t>a\r\\2</t></is></c>'),
        "signs that readers take for others",
    ),
    "a sign of no XML": (
        cell(TEXT, '<c r="\\1" t="inlineStr"><is><t>a\x01\\2</t></is></c>'),
        "signs that readers take for others",
    ),
}
NO_PLAIN = {
    "a formula": cell(NUMBER, r'<c r="\1"><f>1+1</f><v>\2</v></c>'),
    "a formula without a value": cell(NUMBER, r'<c r="\1"><f>1+1</f></c>'),
    "a text of a formula": cell(TEXT, r'<c r="\1" t="str"><f>A1</f><v>\2</v></c>'),
    "a cached text": cell(TEXT, r'<c r="\1" t="str"><v>\2</v></c>'),
    "a shared text": cell(TEXT, r'<c r="\1" t="s"><v>0</v></c>'),
    "a style": cell(NUMBER, r'<c r="\1" s="1"><v>\2</v></c>'),
    "a cell of nothing": cell(NUMBER, r'<c r="\1"/>'),
    "an empty text": cell(TEXT, r'<c r="\1" t="inlineStr"><is><t></t></is></c>'),
    "a value beside a text": cell(
        TEXT, rf'<c r="\1" t="inlineStr"><v>{NAME}</v><is><t>\2</t></is></c>'
    ),
    "fonts": cell(TEXT, r'<c r="\1" t="inlineStr"><is><r><t>\2</t></r></is></c>'),
    "how it is said": cell(
        TEXT,
        rf'<c r="\1" t="inlineStr"><is><t>\2</t><rPh sb="0" eb="1"><t>{NAME}</t></rPh></is></c>',
    ),
    "a comment of XML": cell(TEXT, rf'<!--{NAME}--><c r="\1" t="inlineStr"><is><t>\2</t></is></c>'),
    "a cell twice": cell(f"({NUMBER})", r"\1\1"),
    "a cell of another row": cell(r'r="([A-Z]+)3"', r'r="\g<1>4"'),
    "a row less": around('<row r="4">', '<row r="5">'),
    "a row of nothing": around('<row r="3">', '<row r="3"/><row r="3">'),
    "a row without cells": around("</sheetData>", '<row r="22"></row></sheetData>'),
    "a cell beyond the columns": around(
        "</row></sheetData>", '<c r="XFD21"><v>1</v></c></row></sheetData>'
    ),
    "no names": around('<row r="1"><c r="A1"', '<row r="1"><c r="B1"'),
}


@pytest.mark.parametrize(("change", "words"), SHEETS.values(), ids=[*SHEETS])
def test_what_a_sheet_hides(shelf: Shelf, tmp_path: Path, change: Mutant, words: str) -> None:
    path, dictionary = shelf.copied(tmp_path)
    change(workbook(path)).write(path)
    found = verify_file(path, DECLARED, dictionary=dictionary, same_as=shelf.content)
    assert not found.verified
    if words:
        assert words in detail(found, "container")
    assert NAME not in str(found)


@pytest.mark.parametrize("change", NO_PLAIN.values(), ids=[*NO_PLAIN])
def test_a_cell_that_is_no_plain_value(shelf: Shelf, tmp_path: Path, change: Mutant) -> None:
    path, dictionary = shelf.copied(tmp_path)
    change(workbook(path)).write(path)
    with pytest.raises(
        DataError, match="cannot be read as a workbook that holds a release"
    ) as caught:
        verify_file(path, DECLARED, dictionary=dictionary)
    assert NAME not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (cell(NUMBER, r'<c r="\1"><v>\2.0</v></c>'), "are not written as INT"),
        (cell(NUMBER, r'<c r="\1"><v>0\2</v></c>'), "are not written as INT"),
        (cell(NUMBER, r'<c r="\1"><v>a name</v></c>'), "are not written as INT"),
        (
            cell(NUMBER, r'<c r="\1" t="inlineStr"><is><t>\2</t></is></c>'),
            "not of the kind in which INTEGER is written",
        ),
        (cell(TEXT, r'<c r="\1"><v>7</v></c>'), "not of the kind in which VARCHAR is written"),
        (cell(NUMBER, r'<c r="\1" t="b"><v>1</v></c>'), "not of the kind"),
    ],
)
def test_cells_of_another_type(shelf: Shelf, tmp_path: Path, change: Mutant, words: str) -> None:
    path, dictionary = shelf.copied(tmp_path)
    change(workbook(path)).write(path)
    found = verify_file(path, DECLARED, dictionary=dictionary)
    assert words in detail(found, "types")


@pytest.mark.parametrize(
    "change",
    [
        cell(r"<t>flu</t>", "<t>gout</t>"),
        around("</row></sheetData>", '</row><row r="22"><c r="A22"><v>1</v></c></row></sheetData>'),
    ],
)
def test_other_rows(shelf: Shelf, tmp_path: Path, change: Mutant) -> None:
    path, dictionary = shelf.copied(tmp_path)
    change(workbook(path)).write(path)
    found = verify_file(path, DECLARED, dictionary=dictionary, same_as=shelf.content)
    assert "content" in failed(found)


def test_no_byte_of_a_workbook_may_be_another(shelf: Shelf, tmp_path: Path) -> None:
    path, _ = shelf.copied(tmp_path)
    data = path.read_bytes()
    with zipfile.ZipFile(path) as file:  # a few bits fill up the last byte of what is packed
        filled = {p.header_offset + 29 + len(p.filename) + p.compress_size for p in file.infolist()}
    random = Random(1)
    ends = [*range(40), *range(len(data) - 900, len(data))]  # the first head, and the list
    passed = []
    with Session.open(None, read_only=False) as session:
        for place in {*random.sample(ends, 250), *random.sample(range(len(data)), 250)} - filled:
            changed = bytearray(data)
            changed[place] ^= 1 << random.randrange(8)
            path.write_bytes(changed)
            try:
                rows, check = workbooks.foreign(session, path, "found")
            except DataError:
                continue
            session.drop_temp(rows.name)
            passed += [place] if check.holds else []
    assert passed == []


def test_a_workbook_that_was_saved_again(shelf: Shelf, tmp_path: Path) -> None:
    path, dictionary = shelf.copied(tmp_path)
    openpyxl.load_workbook(path).save(path)
    found = looked_at(path, dictionary)
    assert isinstance(found, DataError) or "container" in failed(found)


@pytest.mark.parametrize("keep", [0.25, 0.5, 0.9, 0.999])
def test_a_workbook_that_is_cut_off(shelf: Shelf, tmp_path: Path, keep: float) -> None:
    path, dictionary = shelf.copied(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    assert isinstance(looked_at(path, dictionary), DataError)
