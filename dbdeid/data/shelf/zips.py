"""ZIP codes of the United States: the area of three digits, the first digit.

Areas in which no more than 20,000 people live are not told apart, as the HIPAA Safe Harbor rule
has it (45 CFR 164.514(b)(2)(i)(B)): all of them are 000, on every level. An area that the census
does not know has nobody.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from dbdeid.data.shelf.tables import read

SMALL = "000"  # what all small areas read
MOST = 20_000  # people of an area that may not be told
_ZIP = re.compile(r"([0-9]{3})(?:[0-9]{2}(?:[- ]?[0-9]{4})?)?")
_AREA, _DIGIT = re.compile(r"([0-9]{3})\*\*"), re.compile(r"([0-9])\*{4}")


@cache
def named_areas() -> frozenset[str]:
    """The areas that may be shown: more than 20,000 people by the census of 2010, and not among
    those that were small by that of 2000."""
    return frozenset(
        row["zip3"]
        for row in read("zip3.csv")
        if int(row["people_2010"]) > MOST and row["small_2000"] != "yes"
    )


def path(value: str) -> tuple[str, ...] | None:
    """The area and the first digit of a ZIP code, or 000 and 000; None where it is none.

    >>> path("02139-1234"), path("03601"), path("K1A 0B1")
    (('021**', '0****'), ('000', '000'), None)
    """
    found = _ZIP.fullmatch(value.strip())
    if found is None:
        return None
    area = found[1]
    return (f"{area}**", f"{area[0]}****") if area in named_areas() else (SMALL, SMALL)


def level(label: str) -> int | None:
    """1 of an area, 2 of a first digit."""
    if label == SMALL:
        return 1
    area = _AREA.fullmatch(label)
    if area is not None:
        return 1 if area[1] in named_areas() else None
    digit = _DIGIT.fullmatch(label)
    return 2 if digit is not None and any(a[0] == digit[1] for a in named_areas()) else None


def shortened(values: Sequence[str]) -> list[str]:
    """The values that seem to have lost leading zeros, or to be areas among whole codes.

    >>> shortened(["02139", "2139", "601"]), shortened(["021", "945"])
    (['2139', '601'], [])
    """
    digits = [value for value in values if re.fullmatch(r"[0-9]+", value.strip())]
    if all(len(value.strip()) == 3 for value in digits):
        whole = any(len(v.strip()) > 3 for v in values if _ZIP.fullmatch(v.strip()))
        return digits if whole else []
    return [value for value in digits if len(value.strip()) not in (5, 9)]
