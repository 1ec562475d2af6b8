"""What the values of columns look like: counted by the engine, over their different values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from dbdeid.engine.relation import NUMBERS, Column, Relation, cast, column, count_where
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.profiling import check_digits


@dataclass(frozen=True, slots=True)
class ColumnShape:
    """What the engine says of one column; the shapes are shares of the values looked at."""

    column: Column
    records: int
    known: int
    distinct: int
    low: float | None
    high: float | None
    whole: bool
    placeholder: str | None
    length: float
    blanks: float
    letters: int
    shapes: Mapping[str, float]

    @property
    def numeric(self) -> bool:
        """Its type is one of numbers."""
        return self.column.family in NUMBERS


TEXTS = ("text", "enum")
NUMBERING = (*TEXTS, "integer")
MOST_LOOKED_AT = 20_000  # distinct values of a column, taken by their hash
AT_ONCE = 8  # columns whose different values are counted together: each needs memory


def column_shapes(session: Session, table: Relation) -> Iterator[ColumnShape]:
    """What the engine says of each column; a few statements for all, not some for each.

    Args:
        session: where the table is.
        table: with its columns.
    """
    looked = [c for c in table.columns if c.family in NUMBERING]
    told = _shapes(session, table, looked) if looked else {}
    records = int(session.row(exp.select(exp.Count(this=exp.Star())).from_(table.table))[0])
    ends = _ends(session, table, [c for c in table.columns if c.family in NUMBERS])
    counted = _counts(session, table, [c for c in table.columns if c.family not in NUMBERING])
    for held in table.columns:
        low, high, odd = ends.get(held.name, (None, None, 1))
        finite = low is not None and math.isfinite(low) and math.isfinite(high)
        shown = told.get(held.name, {})
        of = float(shown.get("records") or 0)
        known, distinct = counted.get(held.name) or (shown["known"], shown["different"])
        yield ColumnShape(
            held,
            records,
            int(known or 0) - int(shown.get("missing") or 0),
            int(distinct or 0),
            float(low) if finite else None,
            float(high) if finite else None,
            whole=held.family in NUMBERS and not odd,
            placeholder=shown.get("placeholder"),
            length=float(shown.get("length") or 0),
            blanks=float(shown.get("blanks") or 0),
            letters=int(shown.get("icd10_letters") or 0),
            shapes={k: float(shown[k] or 0) / of if of else 0.0 for k in _SHAPES[7:] if shown},
        )


def _ends(session: Session, table: Relation, some: Sequence[Column]) -> dict[str, tuple[Any, ...]]:
    """The least and the greatest number of each column, and how many are not whole."""
    wanted: list[exp.Expr] = []
    for held in some:
        number = cast(column(held.name), "DOUBLE")
        odd = exp.NEQ(this=number.copy(), expression=exp.Floor(this=number.copy()))
        wanted += [exp.Min(this=number), exp.Max(this=number.copy()), count_where(odd)]
    if not wanted:
        return {}
    row = session.row(exp.select(*wanted).from_(table.table))
    return {held.name: tuple(row[3 * n : 3 * n + 3]) for n, held in enumerate(some)}


def _counts(
    session: Session, table: Relation, some: Sequence[Column]
) -> dict[str, tuple[int, int]]:
    """Of each column its values and its different ones."""
    found: dict[str, tuple[int, int]] = {}
    for first in range(0, len(some), AT_ONCE):
        group = some[first : first + AT_ONCE]
        values = [column(held.name) for held in group]
        wanted: list[exp.Expr] = []
        for value in values:
            different = exp.Count(this=exp.Distinct(expressions=[value.copy()]))
            wanted += [exp.Count(this=value), different]
        row = session.row(exp.select(*wanted).from_(table.table))
        pairs = zip(row[::2], row[1::2], strict=True)
        found |= {held.name: pair for held, pair in zip(group, pairs, strict=True)}
    return found


def _shapes(
    session: Session, table: Relation, some: Sequence[Column]
) -> dict[str, Mapping[str, Any]]:
    with staged(session, table, some) as values:
        found = {
            some[place].name: dict(zip(_SHAPES, row, strict=True))
            for place, *row in session.rows(looked_for(session, "profiling/value_shapes", values))
        }
    nothing: Mapping[str, Any] = dict.fromkeys(_SHAPES)
    return {held.name: found.get(held.name, nothing) for held in some}


@contextmanager
def staged(session: Session, table: Relation, some: Sequence[Column]) -> Iterator[Relation]:
    """Values of columns as text, in one table for as long as it is asked.

    The engine would look for the shapes of each column apart, were they one statement with this.

    Yields:
        place of the column among `some`, value, n records that have it, whether it is a
        placeholder, and how many records and different values the column has in all.
    """
    counted = [_counted(table, place, held.name) for place, held in enumerate(some)]
    values = exp.union(*counted, distinct=False, copy=False) if len(counted) > 1 else counted[0]
    try:
        yield session.run(Step(_STAGED, values))
    finally:
        session.drop_temp(_STAGED)


_STAGED = "deid_values_seen"


def looked_for(session: Session, name: str, values: Relation) -> exp.Expr:
    """A step that looks for patterns in staged values.

    Patterns with the letters of all scripts take longer to prepare than a small table to be looked
    through: where all values are ASCII, its letters are the same question.

    Args:
        session: where the values are.
        name: of the step, with `__rel__` for the values.
        values: as `staged` yields them.
    """
    query = step(name, {"rel": values})
    size = exp.Anonymous(this="strlen", expressions=[column("value")])  # in bytes
    beyond = count_where(exp.NEQ(this=size, expression=exp.func("length", column("value"))))
    if session.row(exp.select(beyond).from_(values.table)) == (0,):
        for text in query.find_all(exp.Literal):
            if text.is_string:
                text.set("this", in_ascii(text.this))
    return query


def in_ascii(pattern: str) -> str:
    r"""A pattern, or a part of one, that finds the same in ASCII text without other letters.

    >>> in_ascii(r"\p{Lu}[\p{L}'-]+[\[(]")
    "[A-Z][A-Za-z'-]+[\\[(]"
    """
    inside = False  # of brackets
    found = []
    for token in _TOKENS.findall(pattern):
        if token in _LETTERS:
            found.append(_LETTERS[token] if inside else f"[{_LETTERS[token]}]")
            continue
        inside = token != "]" and (inside or token == "[")
        found.append(token)
    return "".join(found)


_LETTERS = {r"\p{L}": "A-Za-z", r"\p{Lu}": "A-Z", r"\p{Ll}": "a-z"}
_TOKENS = re.compile(r"\\p\{\w+\}|\\.|.", re.DOTALL)


def _counted(table: Relation, place: int, name: str) -> exp.Select:
    """Values of a column as text, with its place, their records, and how many there are in all.

    Those that stand for none are the first: such a text is not overlooked.
    """
    text = cast(column(name), "VARCHAR")
    trimmed = exp.Trim(this=exp.func("nfc_normalize", exp.column("value")))
    stands = exp.Lower(this=trimmed).isin(*PLACEHOLDERS)
    n = exp.Count(this=exp.Star())
    counted = (
        exp.select(exp.alias_(text, "value"), exp.alias_(n, "n"))
        .from_(table.table)
        .where(exp.not_(column(name).is_(exp.null())))
        .group_by("1")
    )
    known = exp.Window(this=exp.Sum(this=exp.column("n")))
    different = exp.Window(this=n.copy())
    some = (
        exp.select(
            exp.alias_(trimmed.copy(), "value"),
            "n",
            exp.alias_(stands, "placeholder"),
            exp.alias_(known, "known"),
            exp.alias_(different, "different"),
        )
        .from_(counted.subquery("counted"))
        .order_by("placeholder DESC", exp.func("hash", exp.column("value")))
        .limit(MOST_LOOKED_AT)
    )
    return exp.select(exp.alias_(exp.convert(place), "place"), "*").from_(some.subquery("some"))


def some_values(session: Session, table: Relation, held: Column) -> list[str]:
    """Different values of a column as text, taken by their hash."""
    text = exp.alias_(exp.Trim(this=cast(column(held.name), "VARCHAR")), "value")
    present = exp.not_(column(held.name).is_(exp.null()))
    values = exp.select(text).distinct().from_(table.table).where(present)
    some = exp.select("value").from_(values.subquery("values_of"))
    hashed = exp.func("hash", exp.column("value"))
    rows = session.rows(some.order_by(hashed).limit(check_digits.LOOKED_AT))
    return [row[0] for row in rows if row[0].lower() not in PLACEHOLDERS]


PLACEHOLDERS = (
    *("", "?", "-", "--", ".", "na", "n/a", "#n/a", "n.a.", "null", "(null)", "nan", "missing"),
    *("k.a.", "k. a.", "keine angabe", "fehlt", "manquant", "non renseigné", "s/d"),
)

_SHAPES = (
    *("known", "different", "missing", "placeholder", "records", "length", "blanks"),
    *("number", "date", "timestamp", "ssn", "ip", "mail", "url", "phone", "uuid"),
    *("zip", "zip5", "zip9", "postcode", "icd9", "icd9_letter", "icd10", "icd10_letters"),
    *("band", "name", "word", "street", "national", "numbered", "four_digits", "with_number"),
)
