"""Which written values of a sensitive column are one, found apart from the methods.

Two spellings are one value where nobody who reads a class could tell them apart by what they say:
see `docs/specification/columns.md`. The rule is that of the methods, and the code is another's;
both read Unicode's table of letters that look alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files
from types import TracebackType
from unicodedata import category, name, normalize

from dbdeid.engine.expressions import Expr, Query, Select, aliased, cast, column, select, union_all
from dbdeid.engine.relation import MEASURED, Column, Relation
from dbdeid.engine.session import Session

BLANK, PLAIN_DASH, PLAIN_APOSTROPHE = " ", "-", "'"
_OTHER_DASHES = {"MINUS SIGN", "HYPHEN BULLET", "MODIFIER LETTER MINUS SIGN"}
_OTHER_APOSTROPHES = {
    "LEFT SINGLE QUOTATION MARK",
    "RIGHT SINGLE QUOTATION MARK",
    "SINGLE HIGH-REVERSED-9 QUOTATION MARK",
    "PRIME",
    "MODIFIER LETTER PRIME",
    "MODIFIER LETTER TURNED COMMA",
    "MODIFIER LETTER APOSTROPHE",
}
# First and last of the characters that Unicode calls ignorable by default without being formats.
_IGNORABLE = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2065, 0x2065),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0xE0000, 0xE0FFF),
)


def has_spellings(written: Column) -> bool:
    """Whether values of a column can be spelled in several ways: numbers and dates cannot."""
    return written.family != "boolean" and written.family not in MEASURED


class Spellings:
    """Columns of sensitive values with one spelling for each value: the first of those that occur.

    Args:
        session: sees the tables.
        tables: where the columns stand, under the same names.
    """

    def __init__(self, session: Session, tables: Sequence[Relation]) -> None:
        self._session, self._tables = session, tables
        self._speller = Speller()
        self._first: dict[str, dict[str, str]] = {}
        self._spellings: dict[str, Relation] = {}

    def __enter__(self) -> Spellings:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for table in self._spellings.values():
            self._session.drop_temp(table.name)

    def read(self, named: str) -> None:
        """Find the spellings of a column."""
        text = aliased(cast(column(named), "VARCHAR"), "written")
        parts = [select(text.copy()).from_(table.table) for table in self._tables]
        query: Query = parts[0]
        for part in parts[1:]:
            query = union_all(query, part)
        distinct = select("written").distinct().from_(query.subquery("parts"))
        written = sorted(text for (text,) in self._session.rows(distinct) if text is not None)
        values = [self._speller(text) for text in written]
        first: dict[str, str] = {}
        for text, value in zip(written, values, strict=True):
            if value is not None:
                first.setdefault(value, text)
        self._first[named] = first
        if len(first) < len(written):
            shown = [None if value is None else first[value] for value in values]
            table = {"written": written, "shown": shown}
            self._spellings[named] = self._session.upload(f"verify_spellings_{named}", table)

    def rows(self, table: Relation, values: Sequence[str], kept: Sequence[str]) -> Select:
        """The columns of a table, each value in one spelling.

        Args:
            table: has them.
            values: of sensitive values.
            kept: others.
        """
        query = select(*(column(name, "rows") for name in kept))
        query = query.from_(table.aliased("rows"))
        for named in values:
            value: Expr = column(named, "rows")
            if named in self._spellings:
                spelled = self._spellings[named].aliased(f"of_{named}")
                same = column("written", f"of_{named}").eq(cast(value.copy(), "VARCHAR"))
                query = query.join(spelled, on=same, join_type="left")
                value = column("shown", f"of_{named}")
            query = query.select(aliased(value, named))
        return query

    def listed(self, named: str, values: Sequence[str | None]) -> tuple[str | None, ...]:
        """Values that a model lists, in the spelling that `rows` gives; others as they are."""
        if named not in self._first:
            return tuple(values)
        known = self._first[named]
        meant = ((text, self._speller(text)) for text in values)
        return tuple(None if value is None else known.get(value, text) for text, value in meant)


class Speller:
    """Says which value a spelling is of."""

    def __init__(self) -> None:
        table = files("dbdeid.data.shelf").joinpath("lookalikes.csv")
        lines = table.read_text(encoding="utf-8").split()[1:]
        self._looks = dict(line.split(",") for line in lines)
        self._legible_as: dict[str, str] = {}

    def __call__(self, written: str | None) -> str | None:
        """The value, as one of its spellings; None where nothing is said."""
        if written is None:
            return None
        legible = self._legible(normalize("NFKC", self._legible(written)))
        shown = legible if legible.isascii() else self._in_latin(legible)
        folded = normalize("NFKC", shown.casefold()).casefold()
        return BLANK.join(word for word in folded.split(BLANK) if word) or None

    def _legible(self, written: str) -> str:
        known = self._legible_as
        for one in set(written).difference(known):
            known[one] = _legible(one)
        return "".join([known[one] for one in written])

    def _in_latin(self, legible: str) -> str:
        capitals = legible.upper()
        has_latin = any("a" <= one <= "z" or "A" <= one <= "Z" for one in legible)
        tried = [legible, capitals] if has_latin else [capitals, legible]
        return next((shown for text in tried if (shown := self._shown(text)) is not None), legible)

    def _shown(self, text: str) -> str | None:
        shown = ""
        for one in text:
            foreign = category(one)[0] == "L" and name(one, "")[:6] != "LATIN "
            if foreign and one not in self._looks:
                return None
            shown += self._looks[one] if foreign else one
        return shown


def _legible(one: str) -> str:
    """What is seen of a character, blanks, dashes and apostrophes as the plain ones."""
    kind = category(one)
    if one.isspace() or one == "\N{BRAILLE PATTERN BLANK}":
        return BLANK
    if kind in {"Cc", "Cf", "Cs"} or _in(ord(one), _IGNORABLE):
        return ""
    if kind == "Pd" or name(one, "") in _OTHER_DASHES:
        return PLAIN_DASH
    return PLAIN_APOSTROPHE if name(one, "") in _OTHER_APOSTROPHES else one


def _in(number: int, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(first <= number <= last for first, last in ranges)
