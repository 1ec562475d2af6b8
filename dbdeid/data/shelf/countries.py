"""Countries: ISO 3166 codes and English names, their UN M49 subregion and region."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from dbdeid.data.shelf.tables import read


@cache
def _known() -> dict[str, tuple[str, str]]:
    """Subregion and region of each country, by every name and code of it."""
    found = {}
    for row in read("countries.csv"):
        for name in (row["alpha2"], row["alpha3"], *row["names"].split("|")):
            found[_plain(name)] = row["subregion"], row["region"]
    return found


def _plain(name: str) -> str:
    """A name without case, accents, punctuation and article."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    plain = "".join(c for c in letters if not unicodedata.combining(c))
    words = re.sub(r"[^a-z0-9]+", " ", re.sub(r"[.'’]", "", plain))  # U.S.A. is one word
    return words.strip().removeprefix("the ")


def path(value: str) -> tuple[str, ...] | None:
    """Subregion and region of a country; None where it is none.

    >>> path("de"), path("United-States"), path("Atlantis")
    (('Western Europe', 'Europe'), ('Northern America', 'Americas'), None)
    >>> path("U.S.A.") == path("U.S.") == path("usa")
    True
    """
    return _known().get(_plain(value))


def level(label: str) -> int | None:
    """1 of a subregion, 2 of a region."""
    for number, labels in enumerate(zip(*set(_known().values()), strict=True), start=1):
        if label in labels:
            return number
    return None
