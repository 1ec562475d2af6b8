"""HIPAA Safe Harbor, recomputed from the written table (45 CFR 164.514(b)(2)(i)).

- ages: at most one released value holds ages over 89, and it is no single age;
- dates: years, decades, or all before or from the first day of a year; none of a year before the
  first that may be told;
- ZIP codes: three digits of an area of more than 20,000 people, the first digit, or 000;
- places and what else may only be withheld: `*`;
- no other column is a date or a time by its type.

Which columns hold what is declared; their released values are read as the text that is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction

from dbdeid.data import interval_label
from dbdeid.data.hierarchy import TOP
from dbdeid.data.shelf import OTHER, zips
from dbdeid.engine.expressions import aliased, cast, column, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.verify.base.declaration import Declared, Promise

OLDEST = 90  # years: who is as old or older is in one category
_YEAR = re.compile(r"[0-9]{4}s?|(<|>=) [0-9]{4}(-01-01)?")
_AREA = re.compile(r"([0-9]{3})\*\*")
_DIGIT = re.compile(r"[0-9]\*{4}")


def safe_harbor_checks(session: Session, table: Relation, declared: Declared) -> list[Promise]:
    """Whether the released values are those that the rule allows; nothing without the preset."""
    harbor = declared.harbor
    if harbor is None:
        return []
    found: dict[str, str] = {}
    for name, kind in harbor.columns.items():
        if table.find(name) is None:
            found[name] = "not there"
            continue
        labels = _values(session, table, name)
        wrong = _JUDGED[kind](labels)
        if (first := harbor.first_years.get(name)) is not None:
            wrong += sum(_before(label, first) for label in labels)
        if wrong:
            found[name] = f"{wrong} of its values tell too much"
    exempt = {*harbor.columns, *harbor.accepted, *declared.bounds}
    for c in table.columns:
        if c.family in ("date", "timestamp") and c.name not in exempt:
            found[c.name] = f"its type is {c.type}"
    wanted = {"columns": dict(harbor.columns), "accepted": list(harbor.accepted)}
    if harbor.first_years:
        wanted["first_years"] = dict(harbor.first_years)
    return [Promise("safe_harbor", wanted, found or "kept", not found)]


def _values(session: Session, table: Relation, name: str) -> list[str]:
    text = aliased(cast(column(name), "VARCHAR"), "text")
    distinct = select(text).distinct().from_(table.table)
    return [row[0] for row in session.rows(distinct) if row[0] not in (None, TOP)]


def ages(labels: Sequence[str]) -> int:
    """How many labels of ages reveal more than the rule allows, or are no ages.

    >>> ages(["34", "[35, 36)", "80-89", ">= 90"]), ages(["[80-90)", "[90-100)"]), ages(["93"])
    (0, 0, 1)
    """
    read = [_span(label) for label in labels]
    unknown = sum(span is None for span in read)
    old = [span for span in read if span is not None and (span[1] is None or span[1] > OLDEST)]
    points = sum(end is not None and end - start <= 1 for start, end in old)
    return unknown + (points if len(old) < 2 else len(old))


def _span(label: str) -> tuple[Fraction, Fraction | None] | None:
    """The first age of a label and the first past it; a single age ends a year later."""
    try:
        age = Fraction(label)
        return age, age + 1 if age.denominator == 1 else age
    except (ValueError, ZeroDivisionError):
        pass
    found = interval_label.read(_bracketed(label))
    if found is None:
        return None
    try:
        start = Fraction(found.lower) if found.lower is not None else Fraction(0)
        end = None if found.upper is None else Fraction(found.upper)
    except ValueError:  # of dates
        return None
    return start, end + 1 if end is not None and found.with_upper else end


def _bracketed(label: str) -> str:
    """`[80-90)`, as hospitals write bands, as intervals are written."""
    band = re.fullmatch(r"([\[(][0-9.]+)-([0-9.]+[\])])", label.strip())
    return f"{band[1]}, {band[2]}" if band else label


def _dates(labels: Sequence[str]) -> int:
    return sum(_YEAR.fullmatch(label) is None for label in labels)


def _before(label: str, first: int) -> bool:
    """Whether a year, or all of a decade, lies before the first that may be shown.

    >>> _before("1931", 1936), _before("1930s", 1936), _before("< 1936-01-01", 1936)
    (True, False, False)
    """
    read = re.fullmatch(r"(< )?([0-9]{4})(s?)(-01-01)?", label)
    if read is None:
        return False
    return int(read[2]) + (9 if read[3] else 0) < first


def _zips(labels: Sequence[str]) -> int:
    return sum(not _zip(label) for label in labels)


def _zip(label: str) -> bool:
    area = _AREA.fullmatch(label)
    if area is not None:
        return area[1] in zips.named_areas()
    return label in (zips.SMALL, OTHER) or _DIGIT.fullmatch(label) is not None


_JUDGED: dict[str, Callable[[Sequence[str]], int]] = {
    "age": ages,
    "date": _dates,
    "zip": _zips,
    "withheld": len,
}
