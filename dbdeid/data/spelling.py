"""Spellings of a value: what two texts are that only look different.

Case, blanks, invisible characters, Unicode forms and letters of other scripts that look like Latin
ones do not make another value of a sensitive column: who reads a class does not see them.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from dbdeid.data.shelf import tables

# Unicode's Default_Ignorable_Code_Point beyond the category Cf, and the blank pattern of Braille,
# which is no ignorable but shows nothing.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)
_EMPTY_CELL = "\u2800"
_APOSTROPHES = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u2032\u02b9\u02bb\u02bc"), "'")
_DASHES = dict.fromkeys(map(ord, "\u2212\u2043\u02d7"), "-")


def meaning(text: str) -> str | None:
    """What a text says however it is spelled; None where it says nothing.

    In this order: invisible characters are dropped and compatibility forms unified (NFKC), dashes
    and apostrophes become the plain ones, letters that look like Latin ones become these, case is
    folded, and blanks are trimmed and made one each. Numbers in a text are not read: `1` and `1.0`
    differ, and so do words that differ in an accent.

    Look-alikes are those of Unicode's confusables (UTS #39) among Greek, Cyrillic and Armenian
    letters. They only count in a text whose letters are all Latin or such: a word of another
    language keeps its letters.

    >>> meaning(" HIV\u00a0 positive"), meaning("\u041dIV"), meaning(" \u200b")
    ('hiv positive', 'hiv', None)
    """
    if text.isascii():
        if not text.isprintable():
            text = "".join(c for c in text if c.isprintable() or c.isspace())
    else:
        text = _seen(unicodedata.normalize("NFKC", _seen(text)))
        text = text.translate(_APOSTROPHES | _DASHES)
        text = "".join("-" if unicodedata.category(c) == "Pd" else c for c in text)
        text = unicodedata.normalize("NFKC", _as_latin(text).casefold())
    return " ".join(text.casefold().split()) or None


def _seen(text: str) -> str:
    """The characters of a text that can be seen, and its blanks."""
    text = _UNSEEN.sub("", text.replace(_EMPTY_CELL, " "))
    return "".join(
        c for c in text if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf", "Cs")
    )


def _as_latin(text: str) -> str:
    """A text with Latin letters for those that look like them, if all its letters do.

    Beside a Latin letter one is read as it stands; a word of look-alikes alone is read by its
    capitals, so that both cases of a word stay one.
    """
    mixed = any(c.isascii() and c.isalpha() for c in text)
    for spelled in (text, text.upper()) if mixed else (text.upper(), text):
        shown = [_latin(c) for c in spelled]
        if all(shown):
            return "".join(filter(None, shown))
    return text


@cache
def _latin(character: str) -> str | None:
    if not unicodedata.category(character).startswith("L"):
        return character
    if unicodedata.name(character, "").startswith("LATIN "):
        return character
    return _looks().get(character)


@cache
def _looks() -> dict[str, str]:
    return {row["letter"]: row["look"] for row in tables.read("lookalikes.csv")}
