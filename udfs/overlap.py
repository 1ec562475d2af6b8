"""How much of a released interval lies in a range; the twin of the macro `deid.overlap`."""

from __future__ import annotations

import re
from math import inf, isinf

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_INTERVAL = re.compile(rf"\[({_NUMBER}), ({_NUMBER})\)")
_BELOW = re.compile(rf"< ({_NUMBER})")
_FROM = re.compile(rf">= ({_NUMBER})")
_POINT = re.compile(_NUMBER)


def overlap(label: str | None, lower: float | None, upper: float | None) -> float | None:
    """The share of the label's interval in [lower, upper) under uniform spread, in [0, 1].

    None where it is unknown: an open end, or a label that is no interval, which the range neither
    holds wholly nor misses. A bound of None has no end on that side.

    >>> overlap("[20, 25)", 22, 30), overlap("< 20", 30, None), overlap(">= 60", 65, None)
    (0.6, 0.0, None)
    """
    if label is None:
        return None
    low = -inf if lower is None else lower
    high = inf if upper is None else upper
    if low >= high:
        return 0.0
    ends = _ends(re.sub(r"@[0-9]+$", "", label))
    if ends is None:
        return None
    first, last = ends
    if first == last:
        return 1.0 if low <= first < high else 0.0
    if first >= low and last <= high:
        return 1.0
    if last <= low or first >= high:
        return 0.0
    if isinf(first) or isinf(last):
        return None
    return (min(last, high) - max(first, low)) / (last - first)


def _ends(text: str) -> tuple[float, float] | None:
    """Both ends of a label, infinite where open; None for an interval that holds nothing."""
    if found := _INTERVAL.fullmatch(text):
        first, last = float(found[1]), float(found[2])
        return (first, last) if first < last else None
    if found := _BELOW.fullmatch(text):
        return -inf, float(found[1])
    if found := _FROM.fullmatch(text):
        return float(found[1]), inf
    if _POINT.fullmatch(text):
        return float(text), float(text)
    return -inf, inf
