"""What the columns of a table are: names, mails, dates, codes, numbers; from name and content.

A guess for a custodian to correct. Content is looked at where it is, in SQL over the distinct
values of a column, and no reason ever quotes one of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from sqlglot import exp

from dbdeid.engine.relation import NUMBERS, Column, Relation, cast, column
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.release import column_names as names

Kind = Literal[
    "person_name",
    "mail",
    "phone",
    "record_number",
    "address",
    "place",
    "url",
    "ip",
    "ssn",
    "biometric",
    "image",
    "date",
    "timestamp",
    "year",
    "zip",
    "postcode",
    "icd9",
    "icd10",
    "age",
    "country",
    "code",
    "number",
    "text",
    "free_text",
    "unique",
    "other",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

# Kinds that name a person or lead to one directly, and are never released.
IDENTIFYING: frozenset[Kind] = frozenset(
    (
        *("person_name", "mail", "phone", "record_number", "address", "url", "ip", "ssn"),
        *("biometric", "image", "unique"),
    )
)

# Which of the eighteen identifiers of 45 CFR 164.514(b)(2)(i), (A) to (R), a kind falls under.
SAFE_HARBOR: Mapping[Kind, str] = {
    "person_name": "A",
    "address": "B",
    "place": "B",
    "zip": "B",
    "postcode": "B",
    "date": "C",
    "timestamp": "C",
    "age": "C",
    "phone": "D",
    "mail": "F",
    "ssn": "G",
    "record_number": "H",
    "url": "N",
    "ip": "O",
    "biometric": "P",
    "image": "Q",
    "unique": "R",
}

MOST_LOOKED_AT = 20_000  # distinct values of a column, taken by their hash
MOST = 0.8  # of its values have a shape: the column is of that kind
SURE = 0.95
FEW_RECORDS = 20
FEW_VALUES = 20  # integers of so few values are categories
MANY_VALUES = 1000
MANY_CODES = 200
NEAR_UNIQUE = 0.9
LENGTH_OF_FLAGS = 5
LONG = 40  # characters of a mean text that is written freely
MANY_WORDS = 4
OLDEST = 130  # years


@dataclass(frozen=True, slots=True)
class Found:
    """What a column is.

    Attributes:
        column: its name and type.
        kind: what it holds.
        reason: why that is thought, as a clause without any value of the column.
        records: of the table.
        known: records with a value, NULL and placeholders left out.
        distinct: values, without NULL.
        placeholder: a text that stands for a missing value, as `?`; None where there is none.
        low: the least number; None of other columns, and where it is not finite.
        high: the greatest number.
        whole: all its numbers are whole.
    """

    column: Column
    kind: Kind
    reason: str
    records: int
    known: int
    distinct: int
    placeholder: str | None = None
    low: float | None = None
    high: float | None = None
    whole: bool = False

    @property
    def name(self) -> str:
        """Of the column."""
        return self.column.name

    @property
    def repeats(self) -> bool:
        """It tells whose record it is, and several records share a value."""
        return self.kind in IDENTIFYING and 0 < self.distinct < self.known

    @property
    def years(self) -> bool:
        """It holds ages as numbers of years, as far as its numbers and its name tell."""
        return self.kind == "age" and _years(self.name, self.low, self.high)

    @property
    def near_unique(self) -> bool:
        """Nearly every record has a value of its own."""
        return self.known > FEW_RECORDS and self.distinct > NEAR_UNIQUE * self.known


def detect(session: Session, table: Relation) -> tuple[Found, ...]:
    """What each column of a table is, in the order of the table.

    Args:
        session: where the table is.
        table: a table, or a staged relation, with its columns.
    """
    return tuple(_found(session, table, c) for c in table.columns)


def unique_by(found: Found, subject: Found) -> Found:
    """A column of which nearly every subject has a value of its own is unique, as a column is of
    which every record has one; other columns are what they are."""
    own = found.distinct > max(NEAR_UNIQUE * subject.distinct, FEW_RECORDS)
    numbering = found.kind in ("text", "code", "number") and found.column.family in _NUMBERING
    if not own or not numbering or found.name == subject.name:
        return found
    return replace(found, kind="unique", reason="nearly every subject has a value of its own")


def subject_of(found: Sequence[Found]) -> Found | None:
    """The column that most likely tells whose record a record is, and does so for every record.

    None where a number of persons is another one in every record: there each is a person's.
    """
    if any(_rank(f) == 1 and f.distinct == f.records for f in found):
        return None
    repeating = [f for f in found if f.repeats and f.known == f.records]
    ranked = [(rank, -f.distinct, i) for i, f in enumerate(repeating) if (rank := _rank(f))]
    return repeating[min(ranked)[2]] if ranked else None


def _rank(found: Found) -> int | None:
    """How surely a repeating column tells persons apart, 1 the surest; None: it does not."""
    numbers: bool = found.kind in ("record_number", "ssn", "unique")
    if names.of_event(found.name) or names.of_weight(found.name):
        return None
    if numbers and names.of_person(found.name):
        return 1
    if numbers:
        return 2 if found.kind == "ssn" or names.of_records(found.name) else 3
    return _OTHERWISE.get(found.kind)


# What persons rarely share, and have more than one of.
_OTHERWISE: Mapping[Kind, int] = {"mail": 4, "phone": 5, "person_name": 6}


@dataclass(frozen=True, slots=True)
class _Seen:
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
        return self.column.family in NUMBERS


_TEXTS = ("text", "enum")
_NUMBERING = (*_TEXTS, "integer")


def _found(session: Session, table: Relation, held: Column) -> Found:
    seen = _seen(session, table, held)
    kind, reason = _kind(seen)
    return Found(
        held,
        kind,
        reason,
        seen.records,
        seen.known,
        seen.distinct,
        seen.placeholder,
        seen.low,
        seen.high,
        seen.whole,
    )


def _seen(session: Session, table: Relation, held: Column) -> _Seen:
    value = column(held.name)
    numeric = held.family in NUMBERS
    wanted: list[exp.Expr] = [
        exp.Count(this=exp.Star()),
        exp.Count(this=value),
        exp.Count(this=exp.Distinct(expressions=[value.copy()])),
    ]
    if numeric:
        number = cast(value.copy(), "DOUBLE")
        odd = exp.NEQ(this=number.copy(), expression=exp.Floor(this=number.copy()))
        wanted += [exp.Min(this=number), exp.Max(this=number.copy()), exp.CountIf(this=odd)]
    counted = session.row(exp.select(*wanted).from_(table.table))
    records, known, distinct = (int(n) for n in counted[:3])
    low, high, odd_ones = counted[3:] if numeric else (None, None, 1)
    finite = low is not None and math.isfinite(low) and math.isfinite(high)
    shapes: dict[str, Any] = {}
    if held.family in (*_TEXTS, "integer"):
        query = step("value_shapes", {"rel": table}, {"col": [held.name]}, {"most": MOST_LOOKED_AT})
        shapes = dict(zip(_SHAPES, session.row(query), strict=True))
    looked = float(shapes.get("records", 0))
    return _Seen(
        held,
        records,
        known - int(shapes.get("missing", 0)),
        distinct,
        float(low) if finite else None,
        float(high) if finite else None,
        whole=numeric and not odd_ones,
        placeholder=shapes.get("placeholder"),
        length=float(shapes.get("length", 0)),
        blanks=float(shapes.get("blanks", 0)),
        letters=int(shapes.get("icd10_letters", 0)),
        shapes={k: float(shapes[k]) / looked if looked else 0.0 for k in _SHAPES[5:] if shapes},
    )


_SHAPES = (
    *("missing", "placeholder", "records", "length", "blanks"),
    *("number", "date", "timestamp", "ssn", "ip", "mail", "url", "phone", "uuid"),
    *(
        "zip",
        "zip5",
        "zip9",
        "postcode",
        "icd9",
        "icd9_letter",
        "icd10",
        "icd10_letters",
        "band",
        "name",
    ),
)

_LOOKS: Mapping[str, tuple[Kind, str]] = {
    "mail": ("mail", "look like e-mail addresses"),
    "url": ("url", "look like web addresses"),
    "ssn": ("ssn", "look like social security numbers"),
    "uuid": ("record_number", "look like generated record numbers"),
    "ip": ("ip", "look like network addresses"),
    "timestamp": ("timestamp", "look like dates with a time"),
    "date": ("date", "look like dates"),
    "phone": ("phone", "look like phone numbers"),
    "zip5": ("zip", "have the five digits of a ZIP code"),
    "zip9": ("zip", "look like ZIP+4 codes"),
    "postcode": ("postcode", "look like postal codes"),
}


def _kind(seen: _Seen) -> tuple[Kind, str]:
    """The first rule that fits: type, content and name, number of values."""
    family = seen.column.family
    if family == "other":
        return "other", "its type has no hierarchy"
    if family in ("date", "timestamp"):
        return ("date", "its type is a date") if family == "date" else ("timestamp", "its type")
    if family == "boolean":
        return "code", "it is true or false"
    for rule in (_written, _named, _of_health, _numbered, _freely):
        found = rule(seen)
        if found is not None:
            return found
    return _ordinary(seen)


def _written(seen: _Seen) -> tuple[Kind, str] | None:
    """What the values themselves say, whatever the name is."""
    if seen.column.family == "integer":
        days = seen.shapes.get("date", 0.0)
        if days >= SURE and seen.distinct > 1:
            return "date", f"{_percent(days)} of its numbers are dates written as YYYYMMDD"
        return None
    for shape, (kind, looks) in _LOOKS.items():
        share = seen.shapes.get(shape, 0.0)
        if shape == "zip5" and _five_digits_of_others(seen.column.name):
            continue
        # of digits alone few are a day by chance, but for that nearly all must be
        digits = shape == "date" and seen.shapes.get("number", 0.0) > MOST
        if share >= (SURE if digits else MOST):
            return kind, f"{_percent(share)} of its values {looks}"
    return None


def _five_digits_of_others(name: str) -> bool:
    """Whether a name is of other codes of five digits: ICD-9, or counties (FIPS)."""
    of_zip = names.says("zip", name)
    return names.says("diagnosis", name) or (names.says("place", name) and not of_zip)


def _percent(share: float) -> str:
    return "all" if share == 1 else f"{math.floor(100 * share)} %"


def _named(seen: _Seen) -> tuple[Kind, str] | None:
    """What the name says, unless the values are a mere flag."""
    name, family = seen.column.name, seen.column.family
    direct: tuple[Kind, ...] = () if _flags(seen) else names.DIRECT
    for kind in direct:
        if kind in ("person_name", "address") and seen.numeric:
            continue
        if names.says(kind, name):
            return kind, "its name says so"
    if names.of_person_number(name) or names.of_event_number(name):
        return "record_number", "its name says that it numbers persons or their visits"
    if names.says("age", name):
        if seen.numeric and _years(name, seen.low, seen.high):
            return "age", "its name says so, and its numbers are years of a life"
        if seen.numeric:
            return "age", "its name says so, though its numbers are no years"
        if family in _TEXTS and seen.shapes["band"] >= MOST:
            return "age", "its name says so, and its values are bands of years"
        if family in _TEXTS and not _flags(seen):
            return "age", "its name says so"
    if names.says("year", name) and seen.whole and 1800 <= (seen.low or 0) <= _high(seen) <= 2200:
        return "year", "its name says so, and its numbers are years"
    if names.says("zip", name) and (seen.whole or seen.shapes.get("zip", 0.0) >= MOST):
        return "zip", "its name says so, and its values have the digits of one"
    if names.says("zip", name) and family in _TEXTS:
        return "postcode", "its name says so"
    if names.says("date", name) and family in _TEXTS and seen.distinct > FEW_VALUES:
        return "date", "its name says so"
    if names.says("place", name):
        return "place", "its name says that it tells a place smaller than a state"
    if names.says("country", name) and not seen.numeric:
        return "country", "its name says so"
    return None


def _years(name: str, low: float | None, high: float | None) -> bool:
    """Whether numbers from `low` to `high` under a name of ages are years."""
    if low is None or high is None or names.span_of_time(name) not in (None, "years"):
        return False
    return low >= -1 and high <= OLDEST


def _flags(seen: _Seen) -> bool:
    """It says yes or no, as `has_phone` does."""
    small = _high(seen) <= 2 if seen.numeric else seen.length <= LENGTH_OF_FLAGS
    return seen.distinct <= 2 and seen.records > FEW_RECORDS and small


def _high(seen: _Seen) -> float:
    return math.inf if seen.high is None else seen.high


def _of_health(seen: _Seen) -> tuple[Kind, str] | None:
    """Codes of diseases: few other texts are built like them, and numbers need a name."""
    named, shapes = names.says("diagnosis", seen.column.name), seen.shapes
    nine, ten = shapes.get("icd9", 0.0), shapes.get("icd10", 0.0)
    if named and nine >= MOST and seen.distinct > FEW_VALUES and nine >= ten:
        return "icd9", f"its name says so, and {_percent(nine)} of its values are built like them"
    if named and ten >= MOST:
        return "icd10", f"its name says so, and {_percent(ten)} of its values are built like them"
    if ten >= SURE and seen.distinct > FEW_VALUES and seen.letters > 2:
        return "icd10", f"{_percent(ten)} of its values are built like ICD-10 codes"
    if nine >= SURE and shapes.get("icd9_letter", 0.0) >= 0.01 and seen.distinct > MANY_CODES:
        return "icd9", f"{_percent(nine)} of its values are built like ICD-9 codes"
    return None


def _numbered(seen: _Seen) -> tuple[Kind, str] | None:
    """Numbers of records, by a name that may also be one of codes, or since they are unique."""
    enough = MANY_CODES if names.of_records_alone(seen.column.name) else MANY_VALUES
    many = 2 * seen.distinct > seen.known or seen.distinct > enough
    if seen.known and many and names.of_records(seen.column.name):
        return "record_number", "its name says that it numbers records, and it has many values"
    unique = seen.known > FEW_RECORDS and seen.distinct > NEAR_UNIQUE * seen.known
    text = seen.column.family in _TEXTS
    if unique and text and seen.shapes["name"] >= MOST:
        return "person_name", f"{_percent(seen.shapes['name'])} of its values look like names"
    if unique and text and _written_freely(seen):
        return "free_text", "its values are long texts"
    if unique and (text or seen.column.family == "integer"):
        return "unique", "nearly every record has a value of its own"
    return None


def _freely(seen: _Seen) -> tuple[Kind, str] | None:
    if seen.column.family not in _TEXTS:
        return None
    various = seen.distinct > MANY_CODES or 2 * seen.distinct > seen.known > FEW_RECORDS
    if various and seen.shapes["name"] >= SURE:
        return "person_name", f"{_percent(seen.shapes['name'])} of its values look like names"
    if seen.distinct > FEW_VALUES and _written_freely(seen):  # kinds of something are fewer
        return "free_text", "its values are long texts"
    return None


def _written_freely(seen: _Seen) -> bool:
    return seen.length > LONG or seen.blanks >= MANY_WORDS


def _ordinary(seen: _Seen) -> tuple[Kind, str]:
    """What is left: codes, numbers and texts."""
    name = seen.column.name
    count = f"{seen.distinct} distinct value{'s' * (seen.distinct != 1)}"
    if seen.numeric:
        few = seen.distinct <= FEW_VALUES and not names.of_count(name)
        coded = few or seen.distinct <= 2
        if seen.whole and (coded or names.of_codes(name)) and seen.distinct <= MANY_VALUES:
            return "code", f"whole numbers of {count}"
        return "number", f"numbers of {count}"
    if seen.known and seen.shapes["number"] >= SURE and seen.distinct > FEW_VALUES:
        return "number", "its texts are numbers"
    if names.of_codes(name):
        return "code", f"its name says so; {count}"
    return "text", f"{count}"
