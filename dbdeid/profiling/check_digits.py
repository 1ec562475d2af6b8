"""Numbers with check digits, and telephone numbers, where the extra `detect` is installed.

A number of nine digits may be an amount, a count or a person's. Where nearly all values keep the
check digits of one national scheme, it is that scheme: one in ten or fewer does so by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module

from dbdeid.profiling.kinds import Kind

SURE = 0.95  # of the values keep their check digits
FEWEST = 20  # values: of fewer, all may keep them by chance
LOOKED_AT = 1000  # values
TELEPHONES = 200  # values; a library of all countries takes its time
MOST = 0.9

# Modules of python-stdnum whose numbers have check digits, and what they are.
_SCHEMES: tuple[tuple[str, Kind, str], ...] = (
    ("iban", "record_number", "bank accounts (IBAN)"),
    ("luhn", "record_number", "cards or other numbers with a check digit"),
    ("de.idnr", "ssn", "German tax numbers"),
    ("es.dni", "ssn", "Spanish identity numbers"),
    ("es.nie", "ssn", "Spanish numbers of foreigners"),
    ("fr.nir", "ssn", "French social security numbers"),
    ("it.codicefiscale", "ssn", "Italian tax codes"),
    ("nl.bsn", "ssn", "Dutch citizen service numbers"),
    ("pt.nif", "ssn", "Portuguese tax numbers"),
    ("br.cpf", "ssn", "Brazilian tax numbers"),
    ("be.nn", "ssn", "Belgian national numbers"),
    ("ch.ssn", "ssn", "Swiss social security numbers"),
    ("at.vnr", "ssn", "Austrian social security numbers"),
    ("gb.nhs", "record_number", "NHS numbers"),
    ("ca.sin", "ssn", "Canadian social insurance numbers"),
    ("se.personnummer", "ssn", "Swedish personal numbers"),
    ("pl.pesel", "ssn", "Polish personal numbers"),
)
_LONGEST_OF_CARDS = (13, 19)  # digits; shorter ones keep Luhn's digit in too many schemes
_REGIONS = ("DE", "FR", "ES", "IT", "NL", "PT", "GB", "US", "AT", "CH", "BE", "BR", "MX", "CA")


def checked(values: Sequence[str]) -> tuple[Kind, str] | None:
    """The kind of values by their check digits, and why; None where they keep none.

    None, too, where the extra `detect` is not installed.

    Args:
        values: different ones of a column, as text.
    """
    if len(values) < FEWEST:
        return None
    for name, kind, what in _SCHEMES:
        valid = _scheme(name)
        if valid is None:
            return None
        if sum(map(valid, values)) >= SURE * len(values):
            return kind, f"its values keep the check digits of {what}"
    return _telephones(values[:TELEPHONES])


@cache
def _scheme(name: str) -> Callable[[str], bool] | None:
    """Whether a text is a number of a scheme; None where the library is not there."""
    try:
        valid: Callable[[str], bool] = import_module(f"stdnum.{name}").is_valid
    except ImportError:
        return None
    if name == "luhn":
        least, most = _LONGEST_OF_CARDS
        return lambda text: least <= len(text) <= most and valid(text)
    return valid


def _telephones(values: Sequence[str]) -> tuple[Kind, str] | None:
    """Whether texts are telephone numbers of one country, dialled with a + or a 0 before them."""
    dialled = [v for v in values if v.startswith(("+", "0", "("))]
    if len(dialled) < MOST * len(values):
        return None
    try:
        import phonenumbers
    except ImportError:
        return None
    for region in _REGIONS:
        valid = 0
        for value in dialled:
            try:
                number = phonenumbers.parse(value, region)
            except phonenumbers.NumberParseException:
                continue
            valid += phonenumbers.is_valid_number(number)
        if valid >= MOST * len(values):
            return "phone", "its values are valid telephone numbers"
    return None
