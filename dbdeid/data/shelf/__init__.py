"""The shelf: hierarchies of codes that everybody knows, computed from each value by itself.

A label depends on its value and on tables that ship with dbdeid, never on other values of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dbdeid.data.shelf import countries, icd, zips

# What a value that is no code reads on every level above the raw values.
OTHER = "other"

# Hierarchies that are short for a rule that a specification could also write out.
RULES: Mapping[str, Mapping[str, object]] = {
    "age": {"intervals": (1, 5, 10, 30), "lower": 0, "upper": 90},
    "dates": {"dates": ("month", "quarter", "year", "decade")},
}


@dataclass(frozen=True, slots=True)
class Codes:
    """A hierarchy of codes.

    Attributes:
        what: one of its values, in words.
        height: how many levels lie between the raw values and `*`.
        path: the labels of a value on these levels, lowest first; None: it is no code.
        level: the lowest level that has a label; None: none has.
    """

    what: str
    height: int
    path: Callable[[str], tuple[str, ...] | None]
    level: Callable[[str], int | None]


CODES: Mapping[str, Codes] = {
    "zip": Codes("ZIP code", 2, zips.path, zips.level),
    "icd9": Codes("code of ICD-9-CM", 3, icd.nine.path, icd.nine.level),
    "icd10": Codes("code of ICD-10", 3, icd.ten.path, icd.ten.level),
    "countries": Codes("country", 2, countries.path, countries.level),
}

NAMES = (*RULES, *CODES)


def rows(name: str, values: Sequence[str]) -> list[list[str]]:
    """Each value with its labels; one that is no code has `other` on every level.

    >>> rows("icd9", ["250.83", "?"])[1]
    ['?', 'other', 'other', 'other']
    """
    codes = CODES[name]
    none = (OTHER,) * codes.height
    return [[value, *(codes.path(value) or none)] for value in values]


def level_of(name: str, label: str) -> int | None:
    """The lowest level above the raw values that has a label; None where none has.

    >>> level_of("zip", "021**"), level_of("zip", "02139")
    (1, None)
    """
    return 1 if label == OTHER else CODES[name].level(label)
