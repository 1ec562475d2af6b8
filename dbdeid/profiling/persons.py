"""Whether texts name persons, streets or users: by their words, and by lists of names.

Words are compared in small letters without accents, so that neither capitals, nor how an accent is
written, nor what stands between words hides a name. Lists hold the names of most people where the
Latin alphabet is used; of other scripts only the shape of a value counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

from dbdeid.data.shelf import tables

LOOKED_AT = 500  # different values of a column
_MOST_WORDS = 4  # of a name, without particles and titles
_LEAST_LETTERS = 4  # of a name within the name of a user

_WORD = re.compile(r"[^\W\d_]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WHOLE = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "ı": "i"})
_NUMBER = re.compile(r"[0-9]{1,5}[a-z]?")
_UPPER, _LOWER = "[A-ZÀ-ÖØ-Þ]", "[a-zß-öø-ÿ]"
_HOUSE = r"[0-9]{1,4} ?[a-zA-Z]?(?![\w.,]*[0-9])"
# Streets that no other word is written like: with the number of a house, in a longer text, too.
_STREETS = re.compile(
    rf"\b{_UPPER}[\w.-]*(?:stra(?:ß|ss)e|str\.|gasse|allee|straat|gracht|kade|laan) ?{_HOUSE}"
    rf"|\b{_UPPER}{_LOWER}+er (?:Stra(?:ß|ss)e|Str\.|Allee|Platz|Weg) {_HOUSE}"
    rf"|\b{_UPPER}[\w.-]*(?:weg|platz|ufer|damm|ring|plein|dijk|singel) {_HOUSE}, ?[0-9]{{4,5}}\b"
    rf"|\b[0-9]{{1,5}}[a-z]? (?:{_UPPER}[\w.'-]+ ){{1,3}}"
    r"(?:Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Boulevard|Blvd|Crescent)\b"
    r"|\b[0-9]{1,4}(?: ?bis| ?ter)?,? (?:rue|avenue|boulevard|bd|impasse|chemin|quai) "
    rf"(?:d[eu]s? |d['’]|l['’]|la |le |{_UPPER})"
    r"|\b(?:[Cc]alle|C/|[Aa]venida|[Aa]vda\.?|[Pp]aseo|[Rr]ua|[Tt]ravessa|Viale|Piazza|Corso|Via) ?"
    rf"(?:(?:d[aeio]s?|del|della|la|el|los|las) )*(?:{_UPPER}[\w.'-]+ ?){{1,4}},? ?{_HOUSE}"
)
# Words that a name follows.
_NAMING = re.compile(
    r"\b(?i:siehe|heißt|heisst|namens|genannt|named|(?:name|nom|nombre|nome) (?:is|ist|est|es)"
    r"|s['’]appelle|nommée?|se llama|llamad[oa]|si chiama|chamad[oa]|heet|genaamd"
    r"|tochter|sohn|ehefrau|ehemann|daughter|husband|wife|fille|épouse|hij[oa]|figli[oa]|dochter|zoon)"
    rf":? ({_UPPER}{_LOWER}{{2,}})\b"
)
_USER = re.compile(r"[a-z]+[._-]?[a-z]*[0-9]{0,4}")


def shares(values: Sequence[str]) -> dict[str, float]:
    """Shares of different texts that name somebody or something.

    Args:
        values: different texts of a column.

    Returns:
        `persons`, `single_names`, `mentions` of a person in a longer text, `streets` with a number,
        longer texts that hold one (`addressed`), different `users`, `foreign` (words of another
        script alone), `words` (no digits).
    """
    if not values:
        return dict.fromkeys(NAMES, 0.0)
    of_users = {text.rstrip("0123456789") for text in values if is_user(text)}
    found = {name: sum(map(rule, values)) for name, rule in _RULES.items()}
    return {n: count / len(values) for n, count in (found | {"users": len(of_users)}).items()}


def words(text: str) -> list[str]:
    """The words of a text in small letters without accents, parted at humps, too."""
    return _WORD.findall(_folded(_HUMP.sub(" ", text)))


def _folded(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text).casefold()
    letters = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return letters.translate(_WHOLE)


def is_person(text: str) -> bool:
    """Whether a text is the name of a person: given and family name, initials or a title."""
    if any(c.isdigit() for c in text):
        return False
    said = words(text)
    of_name = [w for w in said if w not in _listed("particle") and w not in _listed("title")]
    names = [word for word in of_name if len(word) > 1]
    if len(names) == 1:
        initial = any(len(word) == 1 and word.isupper() for word in _WORD.findall(text))
        shortened = initial or not _listed("title").isdisjoint(said)
        return shortened and (_is_given(names[0]) or _is_family(names[0]))
    either = 2 <= len(names) <= _MOST_WORDS
    return either and (_is_given(names[0]) or _is_given(names[-1]))


def is_single_name(text: str) -> bool:
    """Whether a text is one word that is a given or a family name."""
    said = [word for word in words(text) if word not in _listed("particle")]
    return len(said) == 1 and text[-1:].isalpha() and (_is_given(said[0]) or _is_family(said[0]))


def mentions_person(text: str) -> bool:
    """Whether a longer text has a given and a family name side by side, written alike."""
    said = _WORD.findall(unicodedata.normalize("NFC", text))
    if len(said) <= 2:
        return names_after_word(text)
    alike = (
        (one, other)
        for one, other in pairwise(said)
        if len(one) > 2 < len(other) and one[0].isupper() == other[0].isupper()
    )
    if any(_is_given(_folded(one)) and _is_family(_folded(other)) for one, other in alike):
        return True
    return names_after_word(text)


def names_after_word(text: str) -> bool:
    """Whether a given or family name follows a word that names go with, as `Tochter heißt`."""
    return any(_is_name(_folded(word)) for word in _NAMING.findall(text))


def has_address(text: str) -> bool:
    """Whether a street with the number of a house stands in a text, among other words or alone."""
    return _STREETS.search(text) is not None


def is_street(text: str) -> bool:
    """Whether a text is a street with the number of a house before or after it."""
    parts = re.findall(r"[^\W_]+", _folded(text))
    said = words(text)
    if len(parts) < 2 or not said or not (_NUMBER.fullmatch(parts[0]) or _ends_in_number(parts)):
        return False
    named = [word for word in said if len(word) > 1 or word in _listed("street_first")]
    first = bool(named) and named[0] in _listed("street_first") and len(named) > 1
    last = any(word in _listed("street_last") for word in named[1:])
    return first or last or any(map(_ends_as_street, named))


def _ends_in_number(parts: list[str]) -> bool:
    return any(_NUMBER.fullmatch(part) for part in parts[-2:])


def _ends_as_street(word: str) -> bool:
    return any(len(word) > len(end) + 2 and word.endswith(end) for end in _listed("street_end"))


def is_user(text: str) -> bool:
    """Whether a text is a name as users have it: an initial or more, a name, digits."""
    if not _USER.fullmatch(text) or not text[-1:].isdigit():
        return False
    said = words(text)
    short = {said[0][1:], said[0][:-1]} if len(said) == 1 else set()
    return any(map(_is_name, {*said, *short}))


def is_foreign(text: str) -> bool:
    """Whether a text is a few words of another script than the Latin."""
    said = _WORD.findall(text)
    letters = "".join(said)
    latin = any(letter.isascii() or "LATIN" in unicodedata.name(letter, "") for letter in letters)
    digits = any(c.isdigit() for c in text)
    return 1 <= len(said) <= _MOST_WORDS and len(letters) > 1 and not latin and not digits


def is_words(text: str) -> bool:
    """Whether a text is of words without digits."""
    return not any(c.isdigit() for c in text) and any(
        len(w) > 2 or not w.isascii() for w in words(text)
    )


_RULES = {
    "persons": is_person,
    "single_names": is_single_name,
    "mentions": mentions_person,
    "streets": is_street,
    "addressed": has_address,
    "foreign": is_foreign,
    "words": is_words,
}
NAMES = (*_RULES, "users")


def _is_name(word: str) -> bool:
    return len(word) >= _LEAST_LETTERS and (_is_given(word) or _is_family(word))


def _is_given(word: str) -> bool:
    return word in _names()["given"]


def _is_family(word: str) -> bool:
    return word in _names()["family"]


@cache
def _names() -> Mapping[str, frozenset[str]]:
    return _table("person_names.csv", "part", "names")


def _listed(concept: str) -> frozenset[str]:
    return _value_words()[concept]


@cache
def _value_words() -> Mapping[str, frozenset[str]]:
    return _table("value_words.csv", "concept", "words")


def _table(file: str, key: str, held: str) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for row in tables.read(file):
        found.setdefault(row[key], set()).update(row[held].split("|"))
    return {name: frozenset(some) for name, some in found.items()}
