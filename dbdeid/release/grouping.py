"""Groups of values that mean something: neighbouring bands, categories that everybody knows."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

from dbdeid.data.shelf import OTHER, tables
from dbdeid.release.column_names import words

# A level of a hierarchy as a spec writes it: labels, and what is joined under each.
Level = dict[str, list[str]]

KNOWN = 0.8  # of the records a list of categories must know
FEW_BANDS = 4
UNKNOWN = frozenset(
    (
        *("?", "", "-", "na", "n/a", "none", "null", "unknown", "missing", "not available"),
        *("refused", "prefer not to say", "prefer not to answer", "declined", "not reported"),
        *("not stated", "don't know", "no answer"),
    )
)
# Lists whose short values stand for other things, too: words of which the column's name has one.
NAMED = {
    "us_states": ("state", "st"),
    "blood_group": ("blood", "abo", "rh", "rhesus"),
}
SHORT = 3  # letters


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
    plain = {value: _plain(value) for value in counted}
    known = {
        chosen: {v: some[p] for v, p in plain.items() if p in some and _meant(name, chosen, v)}
        for chosen, some in _lists().items()
    }
    chosen = max(known, key=lambda one: sum(counted[v] for v in known[one]))
    if sum(counted[v] for v in known[chosen]) < KNOWN * sum(counted.values()):
        return None
    ranked = {v: known[chosen].get(v, _NO_CATEGORY) for v in counted}
    in_order = sorted(counted, key=lambda v: (ranked[v][0], v))
    levels = levels_of({v: ranked[v][1:] for v in in_order})
    return (chosen.replace("_", " "), levels) if levels else None


_NO_CATEGORY = (math.inf, OTHER, OTHER)


def _meant(name: str, chosen: str, value: str) -> bool:
    hints = NAMED.get(chosen)
    return hints is None or len(value) > SHORT or bool({*words(name).split("_")} & {*hints})


def _plain(value: str) -> str:
    return " ".join(re.sub(r"['’]", "", re.sub(r"[\s_\-–./,()]+", " ", value)).lower().split())


@cache
def _lists() -> Mapping[str, Mapping[str, tuple[float, str, str]]]:
    """Of each list its values, with their rank, their group and the wider one."""
    lists: dict[str, dict[str, tuple[float, str, str]]] = {}
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
_UNIT = r"(?: ?(?:years?|yrs?|y|months?|days?|d|hours?|hrs?|h|minutes?|min|kg|cm))?"
_BAND = re.compile(rf"([\[(]?)({_NUMBER})( ?(?:[-–,]|to) ?)({_NUMBER}){_UNIT}([\])]?)", re.I)
_UNDER = re.compile(rf"(?:under|less than|up to|below|at most|<=?|≤) ?{_NUMBER}{_UNIT}", re.I)
_OVER = re.compile(
    rf"(?:over|more than|above|at least|>=?|≥) ?{_NUMBER}{_UNIT}|"
    rf"{_NUMBER}{_UNIT} ?(?:\+|(?:and|or) (?:over|more|above|older|greater|higher))",
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
