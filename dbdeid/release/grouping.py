"""Groups of values that mean something: neighbouring bands, categories that everybody knows."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

from dbdeid.data.shelf import OTHER, tables

# A level of a hierarchy as a spec writes it: labels, and what is joined under each.
Level = dict[str, list[str]]

KNOWN = 0.8  # of the values a list of categories must know
UNKNOWN = frozenset(("?", "", "na", "n/a", "none", "null", "unknown", "missing", "not available"))
FEW_BANDS = 4


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


def categories(values: Sequence[str]) -> list[Level]:
    """The levels of the list of categories that knows most of some values; empty: none does.

    Values that the list does not know are one group of their own.

    >>> categories(["Bachelors", "HS-grad", "Masters", "11th"])[-1]
    {'no more than high school': ['11th', 'HS-grad'], 'college': ['Bachelors', 'Masters']}
    """
    known = {name: [v for v in values if _plain(v) in some] for name, some in _lists().items()}
    name = max(known, key=lambda name: len(known[name]))
    if len(known[name]) < max(KNOWN * len(values), 2):
        return []
    ranked = {v: _lists()[name].get(_plain(v), _NO_CATEGORY) for v in values}
    in_order = sorted(values, key=lambda v: (ranked[v][0], v))
    return levels_of({v: ranked[v][1:] for v in in_order})


_NO_CATEGORY = (math.inf, OTHER, OTHER)


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


_NUMBER = r"[$€£]? ?(\d+(?:\.\d+)?)[k%]?"
_BAND = re.compile(rf"([\[(]?)({_NUMBER})( ?(?:[-–,]|to) ?)({_NUMBER})([\])]?)", re.I)
_UNDER = re.compile(rf"(?:under|less than|up to|below|at most|<=?|≤) ?{_NUMBER}", re.I)
_OVER = re.compile(
    rf"(?:over|more than|above|at least|>=?|≥) ?{_NUMBER}|"
    rf"{_NUMBER} ?(?:\+|(?:and|or) (?:over|more|above|older))",
    re.I,
)


def _ends(value: str) -> tuple[float, float] | None:
    """The limits of a band."""
    text = value.strip()
    if band := _BAND.fullmatch(text):
        low, high = float(band[3]), float(band[6])
        return (low, high) if low < high else None
    if under := _UNDER.fullmatch(text):
        return -math.inf, float(under[1])
    if over := _OVER.fullmatch(text):
        return float(over[1] or over[2]), math.inf
    return None


def _label(ordered: Sequence[str], start: int, width: int) -> str:
    """How neighbours are called together: as a band is written, where all are."""
    some = ordered[start : start + width]
    first, last = (_BAND.fullmatch(some[at].strip()) for at in (0, -1))
    if len(some) == 1:
        return some[0]
    if first is not None and last is not None:
        return f"{first[1]}{first[2]}{first[4]}{last[5]}{last[7]}"
    return f"{some[0]} {'or' if len(some) == 2 else 'through'} {some[-1]}"
