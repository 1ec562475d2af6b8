"""Keyed pseudonyms and date shifts: the same input gives the same output, only with the key.

The key is $DBDEID_PSEUDONYM_KEY, with at least 128 bits, written as

- hexadecimal digits: an even number of them, at least 32 (4 bits each);
- else base64, standard or URL-safe, with or without padding: at least 22 characters (6 bits each);
- else any other text: its UTF-8 bytes, at least 32 of them, counted as 4 bits each.

Blanks and line ends around it are dropped. Who has the key can recompute every pseudonym from a
list of candidates; who has not learns nothing from them but which are equal.
"""

from __future__ import annotations

import base64
import hmac
import os
import re
from collections.abc import Iterable

from dbdeid.errors import DataError

VARIABLE = "DBDEID_PSEUDONYM_KEY"
_BYTES = 16
_TEXT = 32
_HINT = (
    f"make one with `openssl rand -hex 32`, keep it apart from the data, and set ${VARIABLE}; "
    "hex, base64 or at least 32 characters of text"
)


def key_from_environment() -> bytes:
    """The key in $DBDEID_PSEUDONYM_KEY.

    Raises:
        DataError: it is missing or shorter than 128 bits.
    """
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        raise DataError(f"pseudonyms and date shifts need a key in ${VARIABLE}", hint=_HINT)
    return parse_key(text)


def parse_key(text: str) -> bytes:
    """The bytes of a key as it is written; see the module for the rule.

    >>> parse_key("000102030405060708090a0b0c0d0e0f").hex()
    '000102030405060708090a0b0c0d0e0f'

    Raises:
        DataError: it is shorter than 128 bits.
    """
    if re.fullmatch(r"[0-9a-fA-F]+", text):
        key = bytes.fromhex(text) if len(text) % 2 == 0 else b""
        least = _BYTES
    elif (decoded := _base64(text)) is not None and len(decoded) >= _BYTES:
        key, least = decoded, _BYTES
    else:
        key, least = text.encode(), _TEXT
    if len(key) < least:
        raise DataError(f"the key in ${VARIABLE} has fewer than 128 bits", hint=_HINT)
    return key


def _base64(text: str) -> bytes | None:
    bare = text.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except ValueError:  # not base64, or not even ASCII
        return None


def pseudonym(value: str, domain: str, key: bytes) -> str:
    """The pseudonym of a value: HMAC-SHA256 as 64 hexadecimal digits.

    The domain (release and column) is prefixed with its length, so that no two pairs of domain
    and value are ever the same message.
    """
    return _mac(_keyed(key), b"pseudonym", domain, value).hex()


def shift_days(subject: str, max_days: int, key: bytes) -> int:
    """The shift of a subject's dates: uniform over -max_days … -1 and 1 … max_days.

    Zero is left out, so that no date is released as it was. The same subject gets the same shift
    in every column and release with the same `max_days`, which keeps the days between its dates.
    """
    return _shift(_keyed(key), subject, max_days)


def _shift(keyed: hmac.HMAC, subject: str, max_days: int) -> int:
    drawn = int.from_bytes(_mac(keyed, b"date_shift", str(max_days), subject), "big")
    place = drawn % (2 * max_days)
    return place - max_days if place < max_days else place - max_days + 1


def _keyed(key: bytes) -> hmac.HMAC:
    return hmac.new(key, digestmod="sha256")


def _mac(keyed: hmac.HMAC, purpose: bytes, domain: str, value: str) -> bytes:
    prefix = domain.encode()
    # a copy of the state after the key takes half the time of starting anew
    state = keyed.copy()
    state.update(b"%s:%d:%s%s" % (purpose, len(prefix), prefix, value.encode()))
    return state.digest()


def pseudonyms(values: Iterable[str | None], domains: Iterable[str | None]) -> list[str | None]:
    """The pseudonyms of many values; None stays None.

    Raises:
        DataError: the key is missing or short, or a value has no domain.
    """
    keyed = _keyed(key_from_environment())
    known: dict[tuple[str, str], str] = {}
    found: list[str | None] = []
    for value, domain in zip(values, domains, strict=True):
        if domain is None:
            raise DataError("deid_pseudonym: the domain is NULL", hint="name release and column")
        if value is None:
            found.append(None)
            continue
        pair = (domain, value)
        if pair not in known:
            known[pair] = _mac(keyed, b"pseudonym", domain, value).hex()
        found.append(known[pair])
    return found


def shifts(subjects: Iterable[str | None], max_days: Iterable[int | None]) -> list[int | None]:
    """The shift of each subject in days; None for an unknown subject.

    Raises:
        DataError: the key is missing or short, or max_days is not at least 1.
    """
    keyed = _keyed(key_from_environment())
    known: dict[tuple[str, int], int] = {}
    found: list[int | None] = []
    for subject, days in zip(subjects, max_days, strict=True):
        if days is None or days < 1:
            raise DataError("deid_date_shift: max_days must be 1 or more")
        if subject is None:
            found.append(None)
            continue
        pair = (subject, days)
        if pair not in known:
            known[pair] = _shift(keyed, subject, days)
        found.append(known[pair])
    return found
