"""What the values of columns look like: counted by the engine, over their different values."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    case,
    cast,
    column,
    count_distinct,
    count_of,
    count_rows,
    count_where,
    function,
    literal,
    max_of,
    min_of,
    not_null,
    one_of,
    over,
    select,
    sum_of,
    union_all,
)
from dbdeid.engine.reading import with_texts
from dbdeid.engine.relation import NUMBERS, Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import sql, step
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
    placeholders: int
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
_ONE_TEXT = ("integer", "decimal", "date", "boolean")  # other values, other texts
AT_ONCE = 8  # columns whose different values are counted together: each needs memory


def column_shapes(
    session: Session, table: Relation, seen: Seen | None = None
) -> Iterator[ColumnShape]:
    """What the engine says of each column; a few statements for all, not some for each.

    Args:
        session: where the table is.
        table: with its columns.
        seen: their values, where they are staged for more than this.
    """
    looked = [c for c in table.columns if c.family in NUMBERING]
    told = _shapes(session, table, looked, seen) if looked else {}
    records = int(session.row(select(count_rows()).from_(table.table))[0])
    ends = _ends(session, table, [c for c in table.columns if c.family in NUMBERS])
    counted = _counts(session, table, [c for c in table.columns if c.family not in NUMBERING])
    for held in table.columns:
        low, high, odd = ends.get(held.name, (None, None, 1))
        finite = low is not None and math.isfinite(low) and math.isfinite(high)
        shown = told.get(held.name, {})
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
            placeholders=int(shown.get("placeholders") or 0),
            length=float(shown.get("length") or 0),
            blanks=float(shown.get("blanks") or 0),
            letters=int(shown.get("icd10_letters") or 0),
            shapes=shown.get("shapes") or dict.fromkeys(_SHAPES if shown else (), 0.0),
        )


def _ends(session: Session, table: Relation, some: Sequence[Column]) -> dict[str, tuple[Any, ...]]:
    """The least and the greatest number of each column, and how many are not whole."""
    wanted: list[Expr] = []
    for held in some:
        number = cast(column(held.name), "DOUBLE")
        odd = number.copy().neq(function("floor", number.copy()))
        wanted += [min_of(number), max_of(number.copy()), count_where(odd)]
    if not wanted:
        return {}
    row = session.row(select(*wanted).from_(table.table))
    return {held.name: tuple(row[3 * n : 3 * n + 3]) for n, held in enumerate(some)}


def _counts(
    session: Session, table: Relation, some: Sequence[Column]
) -> dict[str, tuple[int, int]]:
    """Of each column its values and its different ones."""
    found: dict[str, tuple[int, int]] = {}
    for first in range(0, len(some), AT_ONCE):
        group = some[first : first + AT_ONCE]
        values = [column(held.name) for held in group]
        wanted: list[Expr] = []
        for value in values:
            different = count_distinct(value.copy())
            wanted += [count_of(value), different]
        row = session.row(select(*wanted).from_(table.table))
        pairs = zip(row[::2], row[1::2], strict=True)
        found |= {held.name: pair for held, pair in zip(group, pairs, strict=True)}
    return found


def _shapes(
    session: Session, table: Relation, some: Sequence[Column], seen: Seen | None
) -> dict[str, Mapping[str, Any]]:
    found: dict[int, list[_Alike]] = defaultdict(list)
    with staged(session, table, some, seen) as values:
        for place, *row in session.rows(looked_for(session, "profiling/value_shapes", values)):
            found[place].append(_Alike(*row))
    return {held.name: _of_column(found[place]) for place, held in enumerate(some)}


class _Alike(NamedTuple):
    """Values of a column that have the same shapes, with what the column has in all."""

    known: int
    different: int
    missing: int | None
    placeholder: str | None
    placeholders: int
    shapes: Sequence[bool]  # of `_SHAPES`; NULL, like what follows, where all are placeholders
    records: int
    signs: int
    blanks: int
    letters: Sequence[str]


def _of_column(alike: Sequence[_Alike]) -> Mapping[str, Any]:
    """What the values of a column look like; nothing where there are none."""
    if not alike:
        return {"known": 0, "different": 0}
    column_, shaped = alike[0], [one for one in alike if one.shapes is not None]
    told = {name: getattr(column_, name) for name in _Alike._fields[:5]}
    if not shaped:
        return told
    records = sum(one.records for one in shaped)
    icd10 = {c for one in shaped if one.shapes[_ICD10] for c in one.letters}
    return told | {
        "length": sum(one.signs for one in shaped) / records,
        "blanks": sum(one.blanks for one in shaped) / records,
        "icd10_letters": len(icd10),
        "shapes": {
            name: sum(one.records for one in shaped if one.shapes[i]) / records
            for i, name in enumerate(_SHAPES)
        },
    }


@dataclass(frozen=True, slots=True)
class Seen:
    """Values of columns as text that are staged once for all that looks at them.

    Attributes:
        relation: as `staged` yields it.
        places: of the columns in it, by their names.
    """

    relation: Relation
    places: Mapping[str, int]


@contextmanager
def seen_once(session: Session, table: Relation) -> Iterator[Seen | None]:
    """The values of all columns that are looked at, staged until the context ends."""
    some = [c for c in table.columns if c.family in NUMBERING or c.family not in NOT_LOOKED_AT]
    if not some:
        yield None
        return
    try:
        relation = session.run(Step(_ONCE, _values(table, some)))
        yield Seen(relation, {held.name: place for place, held in enumerate(some)})
    finally:
        session.drop_temp(_ONCE)


@contextmanager
def staged(
    session: Session, table: Relation, some: Sequence[Column], seen: Seen | None = None
) -> Iterator[Relation]:
    """Values of columns as text, in one table until the context ends.

    The engine would look for the shapes of each column apart, were they one statement with this.

    Args:
        session: where the table is.
        table: with the columns.
        some: of them.
        seen: where they are staged already.

    Yields:
        place of the column among `some`, value, n records that have it, whether it is a
        placeholder, and how many records and different values the column has in all.
    """
    try:
        if seen is None:
            yield session.run(Step(_STAGED, _values(table, some)))
        else:
            yield session.run(Step(_STAGED, _part(seen, some), stored=False))
    finally:
        session.drop_temp(_STAGED)


def _values(table: Relation, some: Sequence[Column]) -> Query:
    counted = [_counted(table, place, held) for place, held in enumerate(some)]
    return union_all(*counted) if len(counted) > 1 else counted[0]


def _part(seen: Seen, some: Sequence[Column]) -> Select:
    """The staged values of some columns, under their places among these."""
    there, old = column("place"), [seen.places[held.name] for held in some]
    place = case(*((there.eq(literal(n)), literal(i)) for i, n in enumerate(old)))
    others = ("value", "n", "placeholder", "known", "different")
    rows = select(aliased(place, "place"), *others).from_(seen.relation.table)
    return rows.where(one_of(there.copy(), [literal(n) for n in old]))


NOT_LOOKED_AT = ("boolean", "other")
_ONCE = "deid_values_seen_once"
_STAGED = "deid_values_seen"


def looked_for(session: Session, name: str, values: Relation) -> str:
    """The text of a step that looks for patterns in staged values.

    Patterns with the letters of all scripts take longer to prepare than a small table to be looked
    through: where all values are ASCII, its letters are the same question.

    Args:
        session: where the values are.
        name: of the step, with `__rel__` for the values.
        values: as `staged` yields them.
    """
    size = function("strlen", column("value"))  # in bytes
    beyond = count_where(size.neq(function("length", column("value"))))
    return _written(name, values, session.row(select(beyond).from_(values.table)) == (0,))


@cache
def _written(name: str, values: Relation, in_ascii_alone: bool) -> str:
    """The same; staged values always lie in the same place, and it is long."""
    query = step(name, {"rel": values})
    return sql(with_texts(query, in_ascii) if in_ascii_alone else query, own=True)


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


def _counted(table: Relation, place: int, held: Column) -> Select:
    """Values of a column as text, with its place, their records, and how many there are in all.

    Those that stand for none are the first: such a text is not overlooked.
    """
    value = column(held.name)
    text = cast(value.copy(), "VARCHAR")
    trimmed = function("trim", function("nfc_normalize", column("value")))
    stands = function("lower", trimmed).isin(*PLACEHOLDERS)
    n = count_rows()
    counted = (
        select(aliased(text, "value"), aliased(n, "n"))
        .from_(table.table)
        .where(not_null(value))
        # values are found faster than their texts; 0.0 and -0.0 are one value and two texts
        .group_by(value.copy() if held.family in _ONE_TEXT else "1")
    )
    known = over(sum_of(column("n")))
    different = over(n.copy())
    some = (
        select(
            aliased(trimmed, "value"),
            "n",
            aliased(stands, "placeholder"),
            aliased(known, "known"),
            aliased(different, "different"),
        )
        .from_(counted.subquery("counted"))
        .order_by("placeholder DESC", function("hash", column("value")))
        .limit(MOST_LOOKED_AT)
    )
    return select(aliased(literal(place), "place"), "*").from_(some.subquery("some"))


def some_values(session: Session, table: Relation, held: Column) -> list[str]:
    """Different values of a column as text, taken by their hash."""
    text = aliased(function("trim", cast(column(held.name), "VARCHAR")), "value")
    present = not_null(column(held.name))
    values = select(text).distinct().from_(table.table).where(present)
    some = select("value").from_(values.subquery("values_of"))
    hashed = function("hash", column("value"))
    rows = session.rows(some.order_by(hashed).limit(check_digits.LOOKED_AT))
    return [row[0] for row in rows if row[0].lower() not in PLACEHOLDERS]


PLACEHOLDERS = (
    *("", "?", "-", "--", ".", "na", "n/a", "#n/a", "n.a.", "null", "(null)", "nan", "missing"),
    *("k.a.", "k. a.", "keine angabe", "fehlt", "manquant", "non renseigné", "s/d"),
)

_SHAPES = (
    *("number", "date", "timestamp", "ssn", "ip", "mail", "url", "phone", "uuid"),
    *("zip", "zip5", "zip9", "postcode", "icd9", "icd9_letter", "icd10"),
    *("band", "name", "word", "street", "national", "numbered", "four_digits", "with_number"),
)
_ICD10 = _SHAPES.index("icd10")
