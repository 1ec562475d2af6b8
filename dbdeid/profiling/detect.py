"""What the columns of a table are: names, mails, dates, codes, numbers; from name and content.

A guess for a custodian to correct. Content is looked at where it is, in SQL over the distinct
values of a column, and no reason ever quotes one of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.profiling import check_digits, shapes
from dbdeid.profiling import column_names as names
from dbdeid.profiling.kinds import IDENTIFYING, KINDS, Kind
from dbdeid.profiling.shapes import NUMBERING, TEXTS, ColumnShape

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

MOST = 0.8  # of its values have a shape: the column is of that kind
SURE = 0.95
HALF = 0.5  # of its values have a shape that its name leads to expect
OWN = 0.02  # values to a record from which on texts built like numbers are no codes
DAYS_OF_A_YEAR = 366
FEW_RECORDS = 20
FEW_VALUES = 20  # integers of so few values are categories
MANY_VALUES = 1000
MANY_CODES = 200
NEAR_UNIQUE = 0.9
LENGTH_OF_FLAGS = 5
LONG = 40  # characters of a mean text that is written freely
MANY_WORDS = 4
OLDEST = 130  # years
LEAST_CHECKED = 10_000_000  # shorter numbers have no check digits
LENGTH_CHECKED = (8, 34)  # letters of a mean text


@dataclass(frozen=True, slots=True)
class DetectedColumn:
    """What a column is.

    Attributes:
        column: its name and type.
        kind: what it holds.
        reason: why that is thought, as a clause without any value of the column.
        records: of the table.
        known: records with a value, NULL and placeholders left out.
        distinct: values, without NULL.
        placeholder: a text that stands for a missing value, as `?`; None where there is none.
        placeholders: how many of the values are such texts.
        low: the least number; None of other columns, and where it is not finite.
        high: the greatest number.
        whole: all its numbers are whole.
        by_name: its name says what it is, whatever its values are.
    """

    column: Column
    kind: Kind
    reason: str
    records: int
    known: int
    distinct: int
    placeholder: str | None = None
    placeholders: int = 0
    low: float | None = None
    high: float | None = None
    whole: bool = False
    by_name: bool = False

    @property
    def name(self) -> str:
        """Of the column."""
        return self.column.name

    @property
    def repeats(self) -> bool:
        """Whether it is of an identifying kind, and several records share a value."""
        return self.kind in IDENTIFYING and 0 < self.distinct < self.known

    @property
    def years(self) -> bool:
        """Whether it holds ages as numbers of years, judged by its numbers and its name."""
        return self.kind == "age" and _years(self.name, self.low, self.high)

    @property
    def near_unique(self) -> bool:
        """Nearly every record has a value of its own."""
        return self.known > FEW_RECORDS and self.distinct > NEAR_UNIQUE * self.known


def detect(
    session: Session, table: Relation, values: shapes.Seen | None = None
) -> tuple[DetectedColumn, ...]:
    """What each column of a table is, in the order of the table.

    Args:
        session: where the table is.
        table: a table, or a staged relation, with its columns.
        values: of the columns, where they are staged for more than this.
    """
    seen = tuple(shapes.column_shapes(session, table, values))
    american = any(names.says("zip", c.name) or names.says("us", c.name) for c in table.columns)
    found = tuple(_found(one, american) for one in seen)
    checked = [_checked(session, table, f, s) for f, s in zip(found, seen, strict=True)]
    return tuple(_beside(f, before) for f, before in zip(checked, [None, *checked], strict=False))


def _beside(found: DetectedColumn, before: DetectedColumn | None) -> DetectedColumn:
    """A number behind a street, under a name that is none but a number's, is one of houses."""
    plain = found.kind in ("text", "number", "code") and not found.by_name
    street = before is not None and before.kind == "address" and before.by_name
    if not (plain and street and names.of_records_alone(found.name)):
        return found
    return replace(found, kind="address", reason="it stands behind a street", by_name=True)


def _checked(
    session: Session, table: Relation, found: DetectedColumn, seen: ColumnShape
) -> DetectedColumn:
    """A column of long numbers that nothing else is known of, by their check digits."""
    plain = found.kind in ("text", "number", "unique", "record_number") and not found.by_name
    if found.column.family == "integer":
        long = (found.low or 0) >= LEAST_CHECKED
    else:
        long = LENGTH_CHECKED[0] <= seen.length <= LENGTH_CHECKED[1]
    if not (plain and long and found.distinct > FEW_VALUES and found.column.family in NUMBERING):
        return found
    said = check_digits.checked(shapes.some_values(session, table, found.column))
    return found if said is None else replace(found, kind=said[0], reason=said[1])


def _found(seen: ColumnShape, american: bool) -> DetectedColumn:
    kind, reason = _kind(seen, american)
    return DetectedColumn(
        seen.column,
        kind,
        reason,
        seen.records,
        seen.known,
        seen.distinct,
        seen.placeholder,
        seen.placeholders,
        seen.low,
        seen.high,
        seen.whole,
        by_name=reason.startswith(_BY_NAME),
    )


_BY_NAME = "its name says"


def unique_by(found: DetectedColumn, subject: DetectedColumn) -> DetectedColumn:
    """A column of which nearly every subject has a value of its own is unique, as a column is of
    which every record has one; other columns are what they are."""
    own = found.distinct > max(NEAR_UNIQUE * subject.distinct, FEW_RECORDS)
    numbering = found.kind in ("text", "code", "number") and found.column.family in NUMBERING
    if not own or not numbering or found.name == subject.name:
        return found
    return replace(found, kind="unique", reason="nearly every subject has a value of its own")


def subject_of(found: Sequence[DetectedColumn]) -> DetectedColumn | None:
    """The column that most likely says whose each record is, and does so for every record.

    None where a number of persons is another one in every record: there each is a person's.
    """
    return next(iter(subject_candidates(found)), None)


def subject_candidates(found: Sequence[DetectedColumn]) -> tuple[DetectedColumn, ...]:
    """All columns that may say whose each record is, the surest first.

    They are identifiers by their name or shape, and never amounts. Where there are several that do
    not determine each other, only the owner of the data knows.
    """
    if any(_rank(f) == 1 and f.distinct == f.records for f in found):
        return ()
    repeating = [f for f in found if f.repeats and f.known == f.records]
    ranked = [(rank, -f.distinct, i) for i, f in enumerate(repeating) if (rank := _rank(f))]
    return tuple(repeating[i] for _, _, i in sorted(ranked))


def _rank(found: DetectedColumn) -> int | None:
    """How surely a repeating column tells persons apart, 1 the surest; None: it does not."""
    numbers: bool = found.kind in ("record_number", "ssn", "unique")
    name = found.name
    if names.of_event(name) or names.of_weight(name) or names.says("house_number", name):
        return None
    if numbers and names.of_person(name):
        return 2 if names.of_case_number(name) else 1
    if numbers and (names.of_money(name) or names.of_secret(name) or names.of_count(name)):
        return None
    if numbers:
        return 2 if found.kind == "ssn" or names.of_records(name) else _shaped_rank(found)
    return _OTHERWISE.get(found.kind)


def _shaped_rank(found: DetectedColumn) -> int | None:
    """The rank of numbers whose name says nothing: texts are built like numbers of records, and
    whole numbers are counted up; others may be amounts."""
    if found.column.family in TEXTS or found.low is None or found.high is None:
        return 3
    return 3 if found.high - found.low < 2 * found.distinct else None


# What persons rarely share, and have more than one of.
_OTHERWISE: Mapping[Kind, int] = {"mail": 4, "phone": 5, "person_name": 6}


_LOOKS: Mapping[str, tuple[Kind, str]] = {
    "mail": ("mail", "look like e-mail addresses"),
    "url": ("url", "look like web addresses"),
    "ssn": ("ssn", "look like social security numbers"),
    "national": ("ssn", "look like national identifiers or accounts"),
    "uuid": ("record_number", "look like generated record numbers"),
    "ip": ("ip", "look like network addresses"),
    "timestamp": ("timestamp", "look like dates with a time"),
    "date": ("date", "look like dates"),
    "phone": ("phone", "look like phone numbers"),
    "zip5": ("postcode", "have the five digits of a postal code, of a country that is not known"),
    "zip9": ("zip", "look like ZIP+4 codes"),
    "postcode": ("postcode", "look like postal codes"),
}


def _kind(seen: ColumnShape, american: bool) -> tuple[Kind, str]:
    """The first rule that fits: type, content and name, number of values."""
    family = seen.column.family
    if family == "other":
        return "other", "its type has no hierarchy"
    if family in ("date", "timestamp"):
        return ("date", "its type is a date") if family == "date" else ("timestamp", "its type")
    if family == "boolean":
        return "code", "it is true or false"
    for rule in (_written, _named, _placed, _counted_from, _of_health, _numbered, _freely):
        found = rule(seen)
        if found is not None:
            kind, reason = found
            return _of_its_country(seen, kind, american), reason
    return _ordinary(seen)


def _of_its_country(seen: ColumnShape, kind: Kind, american: bool) -> Kind:
    """Five digits are a ZIP code only where the table is of the United States."""
    five = seen.shapes.get("zip5", 0.0) >= MOST or seen.column.family == "integer"
    return "zip" if kind == "postcode" and five and american else kind


def _written(seen: ColumnShape) -> tuple[Kind, str] | None:
    """What the values themselves say, whatever the name is."""
    if seen.column.family == "integer":
        days = seen.shapes.get("date", 0.0)
        if days >= SURE and seen.distinct > 1:
            return "date", f"{_percent(days)} of its numbers are dates written as YYYYMMDD"
        return None
    name = seen.column.name
    for shape, (kind, looks) in _LOOKS.items():
        share = seen.shapes.get(shape, 0.0)
        if shape == "zip5" and (_five_digits_of_others(name) or names.says("zip", name)):
            continue
        if shape in _POSTAL and _numbers_persons(name):
            continue
        if shape == "postcode" and names.says("diagnosis", name):
            continue
        # of digits alone few are a day by chance, but for that nearly all must be
        digits = shape == "date" and seen.shapes.get("number", 0.0) > MOST
        if share >= (SURE if digits else MOST):
            return kind, f"{_percent(share)} of its values {looks}"
    return None


_POSTAL = ("zip5", "zip9", "postcode")


def _numbers_persons(name: str) -> bool:
    """Whether a name is of numbers of persons, visits or records, and of no postal code."""
    numbers = names.of_person(name) or names.of_event_number(name) or names.of_records_alone(name)
    return numbers and not names.may_say("postcode", name) and not names.says("zip", name)


def _five_digits_of_others(name: str) -> bool:
    """Whether a name is of other codes of five digits: ICD-9, or counties (FIPS)."""
    of_zip = names.says("zip", name)
    return names.says("diagnosis", name) or (names.says("place", name) and not of_zip)


def _percent(share: float) -> str:
    return "all" if share == 1 else f"{math.floor(100 * share)} %"


def _named(seen: ColumnShape) -> tuple[Kind, str] | None:
    """What the name says, unless the values are a mere flag."""
    name, family = seen.column.name, seen.column.family
    direct: tuple[Kind, ...] = () if _flags(seen) else names.DIRECT
    for kind in direct:
        if kind in ("person_name", "address") and seen.numeric:
            continue
        if names.says(kind, name):
            return kind, "its name says so"
    if names.says("house_number", name) and seen.distinct > 2:
        return "address", "its name says that it numbers houses"
    if names.of_person_number(name) or names.of_event_number(name):
        return "record_number", "its name says that it numbers persons or their visits"
    if names.says("age", name):
        if seen.numeric and _years(name, seen.low, seen.high):
            return "age", "its name says so, and its numbers are years of a life"
        if seen.numeric:
            return "age", "its name says so, though its numbers are no years"
        if family in TEXTS and seen.shapes["band"] >= MOST:
            return "age", "its name says so, and its values are bands of years"
        if family in TEXTS and not _flags(seen):
            return "age", "its name says so"
    lives = seen.numeric and seen.distinct > FEW_VALUES and _years(name, seen.low, seen.high)
    if names.may_say("age", name) and lives:
        return "age", "its name says so, and its numbers are years of a life"
    if names.says("year", name) and seen.whole and 1800 <= (seen.low or 0) <= _high(seen) <= 2200:
        return "year", "its name says so, and its numbers are years"
    if names.says("zip", name) and (seen.whole or seen.shapes.get("zip", 0.0) >= MOST):
        return "zip", "its name says so, and its values have the digits of one"
    if names.says("zip", name) and family in TEXTS:
        return "postcode", "its name says so"
    if names.says("free_text", name) and family in TEXTS and seen.distinct > FEW_VALUES:
        return "free_text", "its name says that it is written freely"
    return None


def _placed(seen: ColumnShape) -> tuple[Kind, str] | None:
    """Dates, places and countries by name, and words that need values to agree with them."""
    name, text = seen.column.name, seen.column.family in TEXTS
    likely = {shape: seen.shapes.get(shape, 0.0) for shape in ("name", "word", "street", "zip5")}
    if names.says("postcode", name) and (seen.whole or text) and not _flags(seen):
        return "postcode", "its name says so"
    digits = likely["zip5"] + seen.shapes.get("four_digits", 0.0) + seen.shapes.get("postcode", 0.0)
    if names.may_say("postcode", name) and digits >= MOST and seen.distinct > FEW_VALUES:
        return "postcode", "its name says so, and its values have the digits of one"
    various = seen.distinct > FEW_VALUES or 2 * seen.distinct > seen.known
    words = text and various and likely["name"] + likely["word"] >= HALF
    if names.says("physician", name) and words:
        return "person_name", "its name is one of physicians, and its values look like names"
    streets = likely["street"] + seen.shapes.get("with_number", 0.0)
    if names.may_say("address", name) and text and various and (words or streets >= HALF):
        return "address", "its name may be one of streets, and its values look like them"
    if likely["street"] >= HALF and various and not names.of_things(name):
        return "address", f"{_percent(likely['street'])} of its values look like streets"
    if names.may_say("phone", name) and seen.shapes.get("phone", 0.0) >= HALF:
        return "phone", "its name says so, and its values look like them"
    if names.says("date", name) and text and seen.distinct > FEW_VALUES:
        return "date", "its name says so"
    if names.says("place", name) or (names.says("place?", name) and words):
        return "place", "its name says that it tells a place smaller than a state"
    if names.says("country", name) and not seen.numeric:
        return "country", "its name says so"
    return None


def _counted_from(seen: ColumnShape) -> tuple[Kind, str] | None:
    """Numbers under the name of a date: days or seconds since another, years with decimals."""
    dated = names.says("exact_date", seen.column.name) and seen.numeric
    if dated and seen.whole and 1800 <= (seen.low or 0) <= _high(seen) <= 2200:
        return "year", "its name says that it is a date, and its numbers are years"
    far = max(_high(seen), -(seen.low or 0)) > DAYS_OF_A_YEAR
    if dated and seen.distinct > FEW_VALUES and far:
        return "date", "its name says so, and its numbers may count its days"
    return None


def _years(name: str, low: float | None, high: float | None) -> bool:
    """Whether numbers from `low` to `high` under a name of ages are years."""
    if low is None or high is None or names.span_of_time(name) not in (None, "years"):
        return False
    return low >= -1 and high <= OLDEST


def _flags(seen: ColumnShape) -> bool:
    """It says yes or no, as `has_phone` does."""
    small = _high(seen) <= 2 if seen.numeric else seen.length <= LENGTH_OF_FLAGS
    return seen.distinct <= 2 and seen.records > FEW_RECORDS and small


def _high(seen: ColumnShape) -> float:
    return math.inf if seen.high is None else seen.high


def _of_health(seen: ColumnShape) -> tuple[Kind, str] | None:
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


def _numbered(seen: ColumnShape) -> tuple[Kind, str] | None:
    """Numbers of records, by a name that may also be one of codes, or since they are unique."""
    enough = MANY_CODES if names.of_records_alone(seen.column.name) else MANY_VALUES
    many = 2 * seen.distinct > seen.known or seen.distinct > enough
    if seen.known and many and (names.of_records(seen.column.name) or _ends_as_number(seen)):
        return "record_number", "its name says that it numbers records, and it has many values"
    built = seen.shapes.get("numbered", 0.0)
    if built >= SURE and (2 * seen.distinct > seen.known > FEW_RECORDS or _many_own(seen)):
        return "record_number", f"{_percent(built)} of its values are built like numbers of records"
    unique = seen.known > FEW_RECORDS and seen.distinct > NEAR_UNIQUE * seen.known
    text = seen.column.family in TEXTS
    if unique and text and seen.shapes["name"] >= MOST and not names.of_things(seen.column.name):
        return "person_name", f"{_percent(seen.shapes['name'])} of its values look like names"
    if unique and text and _written_freely(seen):
        return "free_text", "its values are long texts"
    if unique and (text or seen.column.family == "integer"):
        return "unique", "nearly every record has a value of its own"
    return None


def _many_own(seen: ColumnShape) -> bool:
    """Many values, as of persons with some records each, not as of codes."""
    return seen.distinct > MANY_CODES and seen.distinct > OWN * seen.known


def _ends_as_number(seen: ColumnShape) -> bool:
    """Whether a name of one word ends as those of numbers do, as `randid`, with many values."""
    name = names.words(seen.column.name)
    many = seen.distinct > MANY_VALUES and (seen.whole or seen.column.family in TEXTS)
    return many and re.search("(id|nr|nbr|num)$", name) is not None and not names.of_count(name)


def _freely(seen: ColumnShape) -> tuple[Kind, str] | None:
    if seen.column.family not in TEXTS:
        return None
    various = seen.distinct > MANY_CODES or 2 * seen.distinct > seen.known > FEW_RECORDS
    if various and seen.shapes["name"] >= SURE and not names.of_things(seen.column.name):
        return "person_name", f"{_percent(seen.shapes['name'])} of its values look like names"
    if seen.distinct > FEW_VALUES and _written_freely(seen):  # kinds of something are fewer
        return "free_text", "its values are long texts"
    return None


def _written_freely(seen: ColumnShape) -> bool:
    return seen.length > LONG or seen.blanks >= MANY_WORDS


def _ordinary(seen: ColumnShape) -> tuple[Kind, str]:
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


__all__ = ["IDENTIFYING", "KINDS", "SAFE_HARBOR", "DetectedColumn", "Kind", "detect", "subject_of"]
