"""Columns that no rule of Safe Harbor can be sure of, and that a careful reviewer would ask about.

Dates counted as numbers, ages under odd names, words as of persons and places, texts with numbers,
addresses or days inside: each is only possible, so it is told and not withheld. A reason never
quotes a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from dbdeid.engine.relation import NUMBERS, Relation, cast, column
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.release import column_names as names
from dbdeid.release.detect import FEW_VALUES, MANY_CODES, MOST, MOST_LOOKED_AT, SURE, Found

FEW_WORDS = 8  # different words that may be names; fewer are rather kinds of something
OLD = 90  # years
LONGEST = 130  # years of a life
INITIALS = 60  # different ones; fewer letters are rather codes, as of states
OFTEN_OWN = 0.25  # values to a record from which on texts may number persons
LONGEST_PART = 366  # days of a year
LIVES = 60  # years between the oldest and the youngest of those who are asked about
SOME = 0.01  # of the records: a single odd value is no habit

Shares = Mapping[str, float]
_NAMES = (
    *("looked_at", "low", "high", "single_words", "full_names", "initials", "texts", "numbers"),
    *(
        "whole",
        "five_digits",
        "hundreds",
        "months",
        "days_of_years",
        "days_of_a_year",
        "dates",
        "mails",
    ),
    *("addresses", "networks", "long_numbers", "images", "zips", "three_digits", "leading_zeros"),
    *("spans", "last_number"),
)


def doubts(session: Session, table: Relation, found: Sequence[Found]) -> dict[str, str]:
    """Why a reviewer would look at columns before they are published, by name, as clauses.

    Args:
        session: where the table is.
        table: that the columns are in.
        found: what they are; none of what Safe Harbor names for certain.
    """
    some = [f for f in found if f.distinct > 1 and f.column.family not in ("boolean", "other")]
    if not some:
        return {}
    counted = [_counted(table, place, f.name) for place, f in enumerate(some)]
    values = exp.union(*counted, distinct=False) if len(counted) > 1 else counted[0]
    # one statement for all columns: to write it takes longer than to run it
    query = step("lookalikes", {"rel": values}, values={"most": MOST_LOOKED_AT})
    told = {}
    for place, *row in session.rows(query):
        shares = {n: float(value or 0) for n, value in zip(_NAMES, row, strict=True)}
        said = next((said for rule in _RULES if (said := rule(some[place], shares))), None)
        if said is not None:
            told[some[place].name] = said
    return told


def _counted(table: Relation, place: int, name: str) -> exp.Select:
    """The values of a column as text, each with its place and its records."""
    value = exp.Trim(this=cast(column(name), "VARCHAR"))
    n = exp.alias_(exp.Count(this=exp.Star()), "n")
    return (
        exp.select(exp.alias_(exp.convert(place), "place"), exp.alias_(value, "value"), n)
        .from_(table.table)
        .where(exp.not_(column(name).is_(exp.null())))
        .group_by("2")
    )


def _inside(found: Found, seen: Shares) -> str | None:
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
    "dates": "dates in some of its values",
    "long_numbers": "long numbers in some of its values, as of telephones or records",
}


BIRTHS = "numbers as of years, as far apart as those of births"


def _days(found: Found, seen: Shares) -> str | None:
    """Numbers that count days or seconds, and dates without a year or a day."""
    if seen["days_of_years"] >= SURE and found.distinct > FEW_VALUES:
        return "written as a year and a day of it"
    if seen["months"] >= SURE and found.distinct > FEW_VALUES:
        return "numbers as of a year and a month"
    if seen["days_of_a_year"] >= MOST and found.distinct > 2:
        plain = seen["numbers"] >= SURE
        if not plain or (found.distinct > FEW_VALUES and seen["low"] > 100):
            return "days, months or weekdays without a year"
    low, high = seen["low"], seen["high"]
    if seen["numbers"] < SURE or found.distinct <= FEW_VALUES:
        return None
    for unit, scale in (("seconds", 1), ("milliseconds", 1e3), ("microseconds", 1e6)):
        if _EPOCH[0] * scale <= low and high <= _EPOCH[1] * scale:
            return f"numbers as of {unit} since 1970"
    whole = seen["whole"] >= SURE
    if whole and low >= 0 and 355 <= high <= 366 and found.distinct > MANY_CODES:
        return "whole numbers as of the days of a year"
    if whole and low >= 1850 and high <= 2100 and high - low >= LIVES:
        return BIRTHS
    return None


def _parts(found: Found, seen: Shares) -> str | None:
    """Months, days or quarters that columns beside may make a date of."""
    if not names.of_part_of_date(found.name) or found.distinct > LONGEST_PART:
        return None
    if seen["numbers"] < SURE or (seen["low"] >= 0 and seen["high"] <= LONGEST_PART):
        return "its name is one of months, days or quarters, which tell a date together"
    return None


# 1980 and 2100, in seconds.
_EPOCH = (315_532_800, 4_102_444_800)


def _given(found: Found, seen: Shares) -> str | None:
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
        return "long numbers of one length, as of telephones, accounts or records"
    return None


def _lived(found: Found, seen: Shares) -> str | None:
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


def _words(found: Found, seen: Shares) -> str | None:
    """Words that may be names of persons or places."""
    name = found.name
    if seen["numbers"] >= SURE or found.kind == "country":
        return None
    if names.of_place(name) and found.column.family not in NUMBERS:
        return "its name is one of places, which may be smaller than a state"
    things = names.of_things(name)
    of_person = names.may_name_persons(name)
    if seen["full_names"] >= MOST and (of_person or seen["texts"] > FEW_VALUES) and not things:
        return "words as of persons or of user names"
    if seen["single_words"] >= MOST and not things and (of_person or seen["texts"] >= FEW_WORDS):
        return "single capitalised words, as of persons or places"
    if seen["initials"] >= MOST and seen["texts"] > INITIALS and not things:
        return "letters as of initials"
    return None


def _own(found: Found, seen: Shares) -> str | None:
    """Values that many records have for themselves."""
    if found.near_unique and found.column.family in NUMBERS:
        return "numbers that nearly every record has for itself"
    coded = found.kind in ("text", "code") and seen["numbers"] < SURE
    if coded and found.distinct > max(OFTEN_OWN * found.known, MANY_CODES):
        return "so many different texts that they may number persons or records"
    return None


_RULES: tuple[Callable[[Found, Shares], str | None], ...] = (
    _inside,
    _days,
    _parts,
    _lived,
    _given,
    _words,
    _own,
)
