"""Columns that no rule of Safe Harbor can be sure of, and that a careful reviewer would ask about.

Dates counted as numbers, ages under odd names, words as of persons and places, texts with numbers,
addresses or days inside: each is only possible. What looks like a direct identifier is refused by
those who release it, the rest is told. A reason never quotes a value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from dbdeid.data.shelf import tables
from dbdeid.engine.expressions import aliased, cast, column, function, select
from dbdeid.engine.relation import NUMBERS, Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.profiling import column_names as names
from dbdeid.profiling import persons
from dbdeid.profiling.detect import (
    FEW_VALUES,
    HALF,
    IDENTIFYING,
    MANY_CODES,
    MOST,
    SURE,
    DetectedColumn,
    Kind,
)
from dbdeid.profiling.shapes import NOT_LOOKED_AT, Seen, looked_for, staged

FEW_WORDS = 8  # different words that may be names; fewer are rather kinds of something
_SOME_TEXTS = {"most": persons.LOOKED_AT}
OLD = 90  # years
LONGEST = 130  # years of a life
INITIALS = 60  # different ones; fewer letters are rather codes, as of states
OFTEN_OWN = 0.25  # values to a record from which on texts may number persons
LONGEST_PART = 366  # days of a year
LIVES = 60  # years between the oldest and the youngest of those who are asked about
SOME = 0.01  # of the records: a single odd value is no habit

Shares = Mapping[str, float]
Look = Mapping[str, Shares]  # of columns by name
# What the step looks for, in its order: of different values, then of records.
_OF_TEXTS = ("texts", "single_words", "full_names", "initials", "capitals")
_OF_RECORDS = (
    *("whole", "five_digits", "hundreds", "months", "days_of_years", "days_of_a_year", "dates"),
    *("mails", "addresses", "networks", "long_numbers", "births", "titled", "images", "zips"),
    *("months_of_years", "three_digits", "leading_zeros", "spans", "telephones", "short_dates"),
)


def doubts(found: Sequence[DetectedColumn], seen: Look) -> dict[str, str]:
    """Why a reviewer would look at columns before they are published, by name, as clauses.

    Args:
        found: what columns are; none of what Safe Harbor names for certain.
        seen: what their values hold, as `look` gives it.
    """
    told = {}
    for one, shares in of_each(found, seen):
        said = next((said for rule in _RULES if (said := rule(one, shares))), None)
        if said is not None:
            told[one.name] = said
    return told


def identifiers(
    session: Session,
    table: Relation,
    found: Sequence[DetectedColumn],
    seen: Look,
    *,
    by_name: bool = True,
) -> dict[str, str]:
    """Why columns look like direct identifiers, by name, as clauses without any of their values.

    Names, streets, mail addresses, telephone and record numbers, free text, and texts with any of
    these inside. Values that nearly every record has for itself are another question.

    Args:
        session: where the table is.
        table: that the columns are in.
        found: what they are.
        seen: what their values hold, as `look` gives it.
        by_name: a column's name counts; otherwise its contents alone, as of generalized columns.
    """
    kinds, unknown = _looked_into(session, table, found, seen, by_name)
    judged = _told(found, kinds, by_name)
    return unknown | {f.name: f.reason for f in judged if f.kind in _DIRECT}


_DIRECT = (IDENTIFYING | {"free_text"}) - {"unique"}


def direct(
    session: Session,
    table: Relation,
    found: Sequence[DetectedColumn],
    seen: Look,
    *,
    by_name: bool = True,
) -> tuple[DetectedColumn, ...]:
    """The same columns, where those that look like direct identifiers are of their kind.

    Args:
        session: where the table is.
        table: that the columns are in.
        found: what they are.
        seen: what their values hold, as `look` gives it.
        by_name: a column's name counts; otherwise its contents alone.
    """
    kinds, _ = _looked_into(session, table, found, seen, by_name)
    return _told(found, kinds, by_name)


def _told(
    found: Sequence[DetectedColumn], kinds: Mapping[str, tuple[Kind, str]], by_name: bool
) -> tuple[DetectedColumn, ...]:
    told = []
    for f in found:
        if f.name in kinds:
            kind, reason = kinds[f.name]
            told.append(replace(f, kind=kind, reason=reason, by_name=False))
        elif f.by_name and not by_name and f.kind in _DIRECT:
            told.append(replace(f, kind="text", by_name=False))
        else:
            told.append(f)
    return tuple(told)


def _looked_into(
    session: Session, table: Relation, found: Sequence[DetectedColumn], seen: Look, by_name: bool
) -> tuple[dict[str, tuple[Kind, str]], dict[str, str]]:
    """What contents show; and columns of many words of which nobody can say what they are."""
    asked = [f for f in found if f.kind not in _DIRECT or (f.by_name and not by_name)]
    kinds: dict[str, tuple[Kind, str]] = {}
    unknown: dict[str, str] = {}
    for one, shares in of_each(asked, seen):
        said = _direct(one, shares, by_name)
        if said is not None:
            kinds[one.name] = said
        elif by_name and _unknown(one, shares):
            unknown[one.name] = UNKNOWN
    words = unknown.keys() | {name for name, said in kinds.items() if said[1] in _LISTED}
    for name in _listed(session, table, [f for f in asked if f.name in words]):
        kinds.pop(name, None)
        unknown.pop(name, None)
    return kinds, unknown


def _direct(found: DetectedColumn, seen: Shares, by_name: bool) -> tuple[Kind, str] | None:
    """The kind that the contents of a column show, and why."""
    if found.kind in _OF_VALUES and not (found.by_name and seen["numbers"] < SURE):
        return None
    if found.kind not in ("zip", "postcode", *_OF_VALUES):
        for shape, kind in _INSIDE_KINDS.items():
            if seen[shape] >= SOME:
                return kind, TITLED if shape == "titled" else INSIDE[shape]
    if seen["numbers"] >= SURE:
        return ("record_number", LONG_NUMBERS) if _numbering(found, seen) else None
    if seen["telephones"] >= SOME and found.kind not in _OF_VALUES:
        return "free_text", INSIDE["long_numbers"]
    things = names.of_things(found.name) or names.of_place(found.name)
    of_person = by_name and names.may_name_persons(found.name)
    things = (things and not of_person) or found.kind in ("country", "place", *_OF_VALUES)
    return _on_lists(seen, things) or (None if things else _shaped(seen, of_person))


# Kinds that the values of a column show; a name alone is not enough.
_OF_VALUES: tuple[Kind, ...] = ("date", "timestamp", "year", "age", "icd9", "icd10")


def _numbering(found: DetectedColumn, seen: Shares) -> bool:
    """Whether numbers are as long as those of telephones or records, and measure nothing."""
    measured = names.of_count(found.name) or names.of_secret(found.name)
    dates = max(seen["days_of_years"], seen["short_dates"]) >= SURE
    if measured or dates or names.of_weight(found.name) or names.of_money(found.name):
        return False
    # amounts of this size are rounded, or of different lengths
    enough = SEVEN_DIGITS if seen["hundreds"] >= ROUNDED else 0
    one_length = _given(found, seen) == LONG_NUMBERS and seen["low"] >= enough
    if one_length and seen["hundreds"] < SURE:
        return True
    return found.distinct > FEW_WORDS and seen["telephones"] >= MOST and seen["hundreds"] < HALF


def _on_lists(seen: Shares, things: bool) -> tuple[Kind, str] | None:
    """Persons, streets and users, by lists of names and words that hold in any column."""
    if seen["persons"] >= HALF and seen["texts"] >= FEW_NAMES:
        return "person_name", FULL_NAMES
    if seen["single_names"] >= LISTED and seen["texts"] >= FEW_WORDS:
        return "person_name", SINGLE_WORDS
    if seen["streets"] >= HALF and seen["texts"] >= FEW_NAMES:
        return "address", STREETS
    if seen["users"] >= HALF and seen["texts"] >= FEW_NAMES:
        return "record_number", USERS
    if seen["addressed"] >= SOME:
        return "free_text", ADDRESSED
    if seen["mentions"] >= (HALF if things else SOME):
        return "free_text", MENTIONED
    return None


def _shaped(seen: Shares, of_person: bool) -> tuple[Kind, str] | None:
    """Persons by the shape of words alone, of which there must be many unless a name says so."""
    enough = FEW_WORDS if of_person else MANY_WORDS
    if seen["full_names"] >= MOST and seen["texts"] >= enough:
        return "person_name", FULL_NAMES
    single = max(seen["single_words"], seen["capitals"] if not of_person else 0.0)
    mixed = seen["single_words"] + seen["full_names"] >= SURE and seen["texts"] >= MANY_WORDS
    if (single >= MOST and seen["texts"] >= enough) or mixed:
        return "person_name", SINGLE_WORDS
    if seen["foreign"] >= MOST and seen["texts"] > FEW_WORDS:
        return "person_name", FOREIGN
    if seen["initials"] >= MOST and seen["texts"] > INITIALS:
        return "person_name", LETTERS
    return None


def _unknown(found: DetectedColumn, seen: Shares) -> bool:
    """Whether neither the name nor the values of a column show what its many words are."""
    various = found.kind == "text" and seen["texts"] > FEW_VALUES and seen["words"] >= MOST
    return various and names.says_nothing(found.name)


_INSIDE_KINDS: Mapping[str, Kind] = {
    "images": "image",
    "mails": "mail",
    "addresses": "url",
    "networks": "ip",
    "long_numbers": "free_text",
    "births": "free_text",
    "titled": "free_text",
}
LONG_NUMBERS = "long numbers of one length, as of telephones, accounts or records"
TITLED = "names of persons with a title in some of its values"
FULL_NAMES = "words as of persons or of user names"
SINGLE_WORDS = "single capitalised words, as of persons or places"
LETTERS = "letters as of initials"
FOREIGN = "a few words of another script, as of persons"
STREETS = "streets with the numbers of houses"
USERS = "names as of users"
ADDRESSED = "streets with the numbers of houses in some of its values"
MENTIONED = "names of persons in some of its values"
UNKNOWN = "many words that are on no known list, under a name that says nothing of them"
_LISTED = (FULL_NAMES, SINGLE_WORDS)  # what columns are not whose words are on a known list
WORDS_ONLY = (SINGLE_WORDS, UNKNOWN)  # what columns of places may look like, too
FEW_NAMES = 3  # different values on lists of names
LISTED = 0.6  # of single words: towns have names of persons, too
MANY_WORDS = 30  # different words; fewer are rather kinds of something
SEVEN_DIGITS = 1_000_000
ROUNDED = 0.05  # of the numbers are multiples of a hundred; one of a hundred is by chance


def _listed(session: Session, table: Relation, some: Sequence[DetectedColumn]) -> frozenset[str]:
    """Columns whose words are on a list that everybody knows: countries, states, categories."""
    known = set()
    for one in some:
        if one.distinct > MOST_LISTED:
            continue
        values = _texts(session, table, one)
        if sum(value in _everybodys() for value in values) >= MOST * len(values):
            known.add(one.name)
    return frozenset(known)


MOST_LISTED = 500  # values; no list has more


def _texts(session: Session, table: Relation, one: DetectedColumn) -> list[str]:
    text = function("lower", function("trim", cast(column(one.name), "VARCHAR")))
    rows = session.rows(select(aliased(text, "text")).distinct().from_(table.table))
    return [row[0] for row in rows if row[0]]


@cache
def _everybodys() -> frozenset[str]:
    listed = {row["value"].lower() for row in tables.read("categories.csv")}
    countries = tables.read("countries.csv")
    listed |= {name.lower() for row in countries for name in row["names"].split("|")}
    listed |= {row[wide].lower() for row in countries for wide in ("subregion", "region")}
    return frozenset(listed | {"north america", "south america"})


def look(
    session: Session,
    table: Relation,
    found: Sequence[DetectedColumn],
    values_seen: Seen | None = None,
) -> Look:
    """What the values of columns hold, as shares of their records; one statement for all.

    Columns of one value, and of types that hold none of it, are not looked at.
    """
    some = [f for f in found if f.distinct > 1 and f.column.family not in NOT_LOOKED_AT]
    if not some:
        return {}
    seen: dict[int, list[_Held]] = defaultdict(list)
    with staged(session, table, [f.column for f in some], values_seen) as values:
        for place, *row in session.rows(looked_for(session, "profiling/lookalikes", values)):
            seen[place].append(_Held(*row))
        texts = dict(
            session.rows(step("profiling/value_texts", {"rel": values}, values=_SOME_TEXTS))
        )
    return {
        some[place].name: _shares(held) | persons.shares(texts.get(place, ()))
        for place, held in seen.items()
    }


class _Held(NamedTuple):
    """Values of a column of which the same is true."""

    holds: Sequence[bool | None]  # each of `_OF_TEXTS` and `_OF_RECORDS`
    values: int
    records: int
    low: float | None
    high: float | None
    last_number: int | None


def _shares(held: Sequence[_Held]) -> dict[str, float]:
    """What the values of a column hold: of words as shares of its texts, else of its records."""
    texts = sum(one.values for one in held if one.holds[0])
    records = sum(one.records for one in held)
    shares = {
        "looked_at": float(sum(one.values for one in held)),
        "low": min((one.low for one in held if one.low is not None), default=0.0),
        "high": max((one.high for one in held if one.high is not None), default=0.0),
        "last_number": float(max(one.last_number or 0 for one in held)),
        "texts": float(texts),
        "numbers": sum(one.records for one in held if not one.holds[0]) / records,
    }
    for i, name in enumerate(_OF_TEXTS[1:], 1):
        such = sum(one.values for one in held if one.holds[0] and one.holds[i])
        shares[name] = such / texts if texts else 0.0
    for i, name in enumerate(_OF_RECORDS, len(_OF_TEXTS)):
        shares[name] = sum(one.records for one in held if one.holds[i]) / records
    return shares


def of_each(found: Sequence[DetectedColumn], seen: Look) -> Iterator[tuple[DetectedColumn, Shares]]:
    """Columns that were looked at, each with what its values hold."""
    return ((one, seen[one.name]) for one in found if one.name in seen)


def _inside(found: DetectedColumn, seen: Shares) -> str | None:
    """What stands inside of texts."""
    if seen["numbers"] >= SURE:
        return None
    for shape, said in INSIDE.items():
        if seen[shape] >= SOME:
            return said
    if seen["zips"] >= SOME and found.kind not in ("icd9", "icd10"):
        return "texts with numbers as of ZIP codes or their areas"
    return None


INSIDE = {
    "images": "names of files of images or sounds",
    "mails": "e-mail addresses in some of its values",
    "addresses": "web addresses in some of its values",
    "networks": "network addresses in some of its values",
    "births": "dates of birth in some of its values",
    "dates": "dates in some of its values",
    "long_numbers": "long numbers in some of its values, as of telephones or records",
}


BIRTHS = "numbers as of years, as far apart as those of births"


def _days(found: DetectedColumn, seen: Shares) -> str | None:
    """Numbers that count days or seconds, and dates without a year or a day."""
    if (said := counted_as_days(found, seen)) is not None:
        return said
    if seen["months"] >= SURE and found.distinct > FEW_VALUES:
        return "numbers as of a year and a month"
    if seen["days_of_a_year"] >= MOST and found.distinct > 2:
        plain = seen["numbers"] >= SURE
        if not plain or (found.distinct > FEW_VALUES and seen["low"] > 100):
            return "days, months or weekdays without a year"
    low, high = seen["low"], seen["high"]
    if seen["numbers"] < SURE or found.distinct <= FEW_VALUES:
        return None
    whole = seen["whole"] >= SURE
    if whole and low >= 0 and 355 <= high <= 366 and found.distinct > MANY_CODES:
        return "whole numbers as of the days of a year"
    if whole and low >= 1850 and high <= 2100 and high - low >= LIVES:
        return BIRTHS
    return None


def counted_as_days(found: DetectedColumn, seen: Shares) -> str | None:
    """Why numbers are dates finer than a month: seconds, days of a year, years with decimals."""
    if seen["short_dates"] >= SURE > seen["months"] and found.distinct > FEW_WORDS:
        return "numbers as of a day, a month and the last digits of a year"
    if found.distinct <= FEW_VALUES:
        return None
    if seen["days_of_years"] >= SURE:
        return "written as a year and a day of it"
    low, high = seen["low"], seen["high"]
    if seen["numbers"] < SURE:
        return None
    for unit, scale in (("seconds", 1), ("milliseconds", 1e3), ("microseconds", 1e6)):
        if _EPOCH[0] * scale <= low and high <= _EPOCH[1] * scale:
            return f"numbers as of {unit} since 1970"
    if seen["whole"] < HALF and low >= 1850 and high <= 2100:
        return "numbers as of years with a part of a year"
    return None


def _parts(found: DetectedColumn, seen: Shares) -> str | None:
    """Months, days or quarters that columns beside may make a date of."""
    if not names.of_part_of_date(found.name) or found.distinct > LONGEST_PART:
        return None
    if seen["numbers"] < SURE or (seen["low"] >= 0 and seen["high"] <= LONGEST_PART):
        return "its name is one of months, days or quarters, which tell a date together"
    return None


# 1980 and 2100, in seconds.
_EPOCH = (315_532_800, 4_102_444_800)


def _given(found: DetectedColumn, seen: Shares) -> str | None:
    """Whole numbers of one length: day numbers, places, telephones, records."""
    name = found.name
    if seen["numbers"] < SURE or seen["whole"] < SURE or found.kind in ("icd9", "icd10"):
        return None
    low, high = seen["low"], seen["high"]
    measured = names.of_count(name) or names.of_secret(name)
    round_ones = seen["hundreds"] > 0.5
    if not measured and not round_ones and found.distinct > FEW_WORDS:
        if seen["five_digits"] > 0.5 and low >= 501 and high <= 99_950:
            return "whole numbers of five digits, as of ZIP codes, or of days since 1900"
        if seen["three_digits"] == 1 and seen["leading_zeros"] > 0:
            return "three digits, as of areas of ZIP codes"
    if low >= 1e5 and len(f"{low:.0f}") == len(f"{high:.0f}") and found.distinct > MANY_CODES:
        return LONG_NUMBERS
    return None


def _lived(found: DetectedColumn, seen: Shares) -> str | None:
    """How long somebody has lived, under a name that does not say so for certain."""
    low, high = seen["low"], seen["high"]
    if seen["numbers"] >= SURE:
        unit = names.span_of_time(found.name)
        most = _UNITS.get(unit or "")
        if most is not None and low >= -1 and OLD * most <= high <= LONGEST * most:
            return f"numbers up to {OLD} years and more, as of ages in {unit}"
    elif seen["spans"] >= MOST and OLD <= seen["last_number"] <= LONGEST:
        return f"texts with years from {OLD} on, as of ages"
    return None


_UNITS = {"years": 1, "months": 12, "weeks": 52, "days": 365}


def _words(found: DetectedColumn, seen: Shares) -> str | None:
    """Words that may be names of persons or places."""
    name = found.name
    if seen["numbers"] >= SURE or found.kind == "country":
        return None
    if names.of_place(name) and found.column.family not in NUMBERS:
        return "its name is one of places, which may be smaller than a state"
    things = names.of_things(name)
    of_person = names.may_name_persons(name)
    if seen["full_names"] >= MOST and (of_person or seen["texts"] > FEW_VALUES) and not things:
        return FULL_NAMES
    if seen["single_words"] >= MOST and not things and (of_person or seen["texts"] >= FEW_WORDS):
        return SINGLE_WORDS
    if seen["initials"] >= MOST and seen["texts"] > INITIALS and not things:
        return LETTERS
    return None


def _own(found: DetectedColumn, seen: Shares) -> str | None:
    """Values that many records have for themselves."""
    if found.near_unique and found.column.family in NUMBERS:
        return "numbers that nearly every record has for itself"
    coded = found.kind in ("text", "code") and seen["numbers"] < SURE
    if coded and found.distinct > max(OFTEN_OWN * found.known, MANY_CODES):
        return "so many different texts that they may number persons or records"
    return None


_RULES: tuple[Callable[[DetectedColumn, Shares], str | None], ...] = (
    _inside,
    _days,
    _parts,
    _lived,
    _given,
    _words,
    _own,
)
