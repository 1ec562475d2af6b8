"""Groups of values that mean something: neighbouring bands, categories that everybody knows."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

from dbdeid.data.shelf import OTHER, tables
from dbdeid.profiling.column_names import words

# A level of a hierarchy as a spec writes it: labels, and what is joined under each.
Level = dict[str, list[str]]

KNOWN = 0.8  # of the records a list of categories must know
FEW_BANDS = 4
UNKNOWN = frozenset(
    (
        *("?", "", "-", "na", "n/a", "none", "null", "unknown", "missing", "not available"),
        *("refused", "prefer not to say", "prefer not to answer", "declined", "not reported"),
        *(
            "not stated",
            "don't know",
            "no answer",
            "dont know",
            "n a",
            "not known",
            "missing value",
        ),
        *("unbekannt", "keine angabe", "k a", "ohne angabe", "inconnu", "non renseigne", "nr"),
        *("desconocido", "no consta", "sin datos", "sconosciuto", "non noto", "non disponibile"),
        *("onbekend", "niet bekend", "desconhecido", "nao informado", "ignorado", "nd"),
    )
)
# Lists whose short values stand for other things, too: words of which the column's name has one.
NAMED = {
    "us_states": ("state", "st"),
    "blood_group": ("blood", "abo", "rh", "rhesus"),
    "sex": (
        *("sex", "gender", "geschlecht", "sexe", "genre", "sexo", "genero", "sesso", "genere"),
        *("geslacht", "gdr", "sx"),
    ),
    "insurance": (
        *("insurance", "insurer", "payer", "payor", "coverage", "versicherung", "kasse"),
        *("krankenkasse", "kostentrager", "assurance", "couverture", "regime", "seguro"),
        *("aseguradora", "cobertura", "regimen", "assicurazione", "verzekering", "convenio"),
        *("financiador", "versicherungsart", "versicherungsstatus", "verzekeringstype"),
    ),
}
SHORT = 3  # letters
# Lists whose words say of whom they are, whatever the column is called; `yes` is said of anything.
OF_PERSONS = frozenset(
    (
        *("sex", "marital_status", "race", "education", "employment", "occupation", "household"),
        *("us_states", "blood_group", "insurance", "admission", "discharge", "smoking", "religion"),
    )
)


def levels_of(paths: Mapping[str, Sequence[str]]) -> list[Level]:
    """Levels of values with their labels, lowest first; those that join nothing are left out.

    Args:
        paths: the labels of each value, as many for all.

    >>> levels_of({"Mon": ["weekday"], "Tue": ["weekday"], "Sat": ["weekend"]})
    [{'weekday': ['Mon', 'Tue'], 'weekend': ['Sat']}]
    """
    levels: list[Level] = []
    below = {value: value for value in paths}
    for labels in zip(*paths.values(), strict=True):
        level: Level = {}
        for value, label in zip(paths, labels, strict=True):
            level.setdefault(label, []).append(below[value])
        if 1 < len(level) < len(set(below.values())):
            levels.append({label: list(dict.fromkeys(some)) for label, some in level.items()})
            below = dict(zip(paths, labels, strict=True))
    return levels


# -- categories ------------------------------------------------------------------------------------


def categories(name: str, counted: Mapping[str, int]) -> tuple[str, list[Level]] | None:
    """The list of categories that knows most records of a column, and its levels.

    Args:
        name: of the column.
        counted: its values, with their records.

    Returns:
        The name of the list, and levels; values that it does not know are one group of their own.
        None where no list knows enough, or where it joins nothing.

    >>> found = categories("edu", {"Bachelors": 30, "HS-grad": 50, "Masters": 9, "11th": 11})
    >>> found[1][-1]
    {'no more than high school': ['11th', 'HS-grad'], 'college': ['Bachelors', 'Masters']}
    """
    chosen, known = _best(name, counted)
    if chosen is None:
        return None
    ranked = {v: known.get(v, _NO_CATEGORY) for v in counted}
    in_order = sorted(counted, key=lambda v: (ranked[v][0], v))
    levels = levels_of({v: ranked[v][1:] for v in in_order})
    if levels and len(levels[-1].keys() - {OTHER}) < 2:  # all that are known in one tell nothing
        levels.pop()
    return (chosen.replace("_", " "), levels) if levels else None


def list_of(name: str, counted: Mapping[str, int]) -> str | None:
    """The list of categories that knows most records of a column, as `marital_status`.

    >>> list_of("x", {"männlich": 20, "weiblich": 21})
    'sex'
    """
    return _best(name, counted)[0]


def known_share(name: str, counted: Mapping[str, int]) -> float:
    """The share of the records whose value is on any list, is a band, or stands for no knowledge.

    >>> known_share("result", {"<7": 5, "7-8": 2, "Norm": 2, "not available": 1})
    1.0
    """
    records = sum(counted.values())
    known = sum(n for v, n in counted.items() if _is_known(name, v))
    return known / records if records else 0.0


def _is_known(name: str, value: str) -> bool:
    plain = _plain(value)
    listed = any(plain in some and _meant(name, one, value) for one, some in _lists().items())
    return listed or plain in UNKNOWN or _ends(value) is not None


def _best(name: str, counted: Mapping[str, int]) -> tuple[str | None, dict[str, _Category]]:
    """The list that knows most records, one that the name hints at first, and what it says."""
    plain = {value: _plain(value) for value in counted}
    known = {
        chosen: {v: some[p] for v, p in plain.items() if p in some and _meant(name, chosen, v)}
        for chosen, some in _lists().items()
    }
    told = {value: n for value, n in counted.items() if plain[value] not in UNKNOWN}
    records = {one: sum(told.get(v, 0) for v in some) for one, some in known.items()}
    chosen = max(known, key=lambda one: (records[one], _hinted(name, one)))
    enough = records[chosen] >= KNOWN * sum(told.values()) > 0
    return (chosen, known[chosen]) if enough else (None, {})


_Category = tuple[float, str, str]
_NO_CATEGORY: _Category = (math.inf, OTHER, OTHER)


def _meant(name: str, chosen: str, value: str) -> bool:
    return chosen not in NAMED or len(value) > SHORT or _hinted(name, chosen)


def _hinted(name: str, chosen: str) -> bool:
    said = words(_folded(name))
    hints = NAMED.get(chosen, tuple(chosen.split("_")))
    return bool({*said.split("_")} & {*hints})


def _plain(value: str) -> str:
    return " ".join(
        re.sub(r"['’`´]", "", re.sub(r"[\s_\-–./,;:()]+", " ", _folded(value).casefold())).split()
    )


def _folded(text: str) -> str:
    """Without accents: `été` is `ete`."""
    parts = unicodedata.normalize("NFKD", text)
    return "".join(part for part in parts if not unicodedata.combining(part))


@cache
def _lists() -> Mapping[str, Mapping[str, _Category]]:
    """Of each list its values, with their rank, their group and the wider one."""
    lists: dict[str, dict[str, _Category]] = {}
    for rank, row in enumerate(tables.read("categories.csv")):
        lists.setdefault(row["list"], {})[row["value"]] = (rank, row["group"], row["wider"])
    return lists


# -- bands -----------------------------------------------------------------------------------------


def bands(values: Sequence[str]) -> list[Level]:
    """Levels that join two neighbours, then four, of bands such as `[70-80)` or `under $11k`.

    A value that stands for no knowledge, as `?`, stays by itself; empty where anything else is no
    band, or bands overlap.

    >>> bands(["0-9", "10-19", "20-29", "30-39"])
    [{'0-19': ['0-9', '10-19'], '20-39': ['20-29', '30-39']}]
    """
    unknown = [v for v in values if v.strip().lower() in UNKNOWN]
    ends = {v: _ends(v) for v in values if v not in unknown}
    found = {v: end for v, end in ends.items() if end is not None}
    ordered = sorted(found, key=found.__getitem__)
    apart = all(found[a][1] <= found[b][0] for a, b in pairwise(ordered))
    if len(found) < max(FEW_BANDS, len(ends)) or not apart:
        return []
    widths, width = [], 2
    while len(ordered) > width:
        widths.append(width)
        width *= 2
    paths = {v: [_label(ordered, n - n % w, w) for w in widths] for n, v in enumerate(ordered)}
    return levels_of(paths | {v: [v] * len(widths) for v in unknown})


_NUMBER = r"[$€£]? ?(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?) ?([km%]?)"
_UNIT = (
    r"(?: ?(?:years?|yrs?|y|months?|days?|d|hours?|hrs?|h|minutes?|min|kg|cm|jahren?|monate|tage|"
    r"ans|mois|jours|años|meses|dias|días|anni|mesi|giorni|jaar|maanden|dagen|anos))?"
)
_TO = " ?[-–,] ?| ?to ?| (?:and|bis|und|à|a|et|y|al|tot|até|e) "
_LESS = (
    "under|less than|up to|below|at most|unter|bis|bis zu|weniger als|jünger als|höchstens|"
    "moins de|jusqu['’]à|menos de|menor de|menores de|hasta|meno di|fino a|sotto i|minder dan|"
    "jonger dan|onder|tot|até|menor que|<=?|≤"
)
_MORE = (
    "over|more than|above|at least|über|mehr als|älter als|ab|mindestens|plus de|más de|mayor de|"
    "mayores de|più di|oltre|oltre i|sopra i|meer dan|ouder dan|boven|vanaf|mais de|maior que|"
    "acima de|>=?|≥"
)
_UPWARD = (
    "(?:and|or) (?:over|more|above|older|greater|higher)|und (?:älter|mehr|darüber)|"
    "oder (?:älter|mehr)|et plus|ou plus|y más|o más|e più|e oltre|o più|en ouder|en meer|"
    "of meer|of ouder|e mais|ou mais"
)
_BAND = re.compile(rf"([\[(]?)({_NUMBER})({_UNIT}(?:{_TO}))({_NUMBER}){_UNIT}([\])]?)", re.I)
_UNDER = re.compile(rf"(?:{_LESS}) ?{_NUMBER}{_UNIT}", re.I)
_OVER = re.compile(
    rf"(?:{_MORE}) ?{_NUMBER}{_UNIT}|{_NUMBER}{_UNIT} ?(?:\+|{_UPWARD})",
    re.I,
)


def _ends(value: str) -> tuple[float, float] | None:
    """The limits of a band."""
    text = value.strip()
    if band := _BAND.fullmatch(text):
        low, high = _number(band[3], band[4] or band[8]), _number(band[7], band[8])
        return (low, high) if low < high else None
    if under := _UNDER.fullmatch(text):
        return -math.inf, _number(under[1], under[2])
    if over := _OVER.fullmatch(text):
        return _number(over[1] or over[3], over[2] or over[4] or ""), math.inf
    return None


def _number(digits: str, unit: str) -> float:
    return float(digits.replace(",", "")) * {"k": 1e3, "m": 1e6}.get(unit.lower(), 1)


def _label(ordered: Sequence[str], start: int, width: int) -> str:
    """How neighbours are called together: as a band is written, where all are."""
    some = ordered[start : start + width]
    first, last = (_BAND.fullmatch(some[at].strip()) for at in (0, -1))
    if len(some) == 1:
        return some[0]
    if first is not None and last is not None:
        return f"{first[1]}{first[2]}{first[5]}{last[6]}{last[9]}"
    return f"{some[0]} {'or' if len(some) == 2 else 'through'} {some[-1]}"
