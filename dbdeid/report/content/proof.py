"""Word the proof and scores of a search alike on the screen and on the page.

A bound is rounded down and a gap up: neither is told better than it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

FAR = 0.5  # a gap above it says that little is known, not how good the result is
_BLUR = 1e-9  # of a shown digit: what the arithmetic of a gap may be off by


def percent(gap: float) -> str:
    """A gap in percent, rounded up.

    >>> percent(0.0301), percent(0.2), percent(1e-9)
    ('3.1%', '20.0%', '0.1%')
    """
    return f"{math.ceil(gap * 1000 - _BLUR) / 10:.1f}%"


def at_least(bound: float) -> str:
    """A bound to four significant digits, rounded down.

    >>> at_least(0.00289), at_least(0.123456), at_least(12345.6)
    ('0.00289', '0.1234', '12,345')
    """
    if not bound:
        return "0"
    digits = 3 - math.floor(math.log10(abs(bound)))
    if digits <= 0:
        return f"{math.floor(bound):,}"
    return f"{math.floor(bound * 10**digits + _BLUR) / 10**digits:.4g}"


def apart(gap: float | None, bound: float | None, objective: str) -> str:
    """How far the optimum may be, to follow a statement that it is not proven.

    Args:
        gap: of the search, a share of the score found.
        bound: below which no score can be.
        objective: what the score is of, as a spec names it.

    Returns:
        Nothing where no bound above 0 is known.
    """
    if gap is None or gap >= 1:
        return ""
    if gap <= FAR:
        return f"; the optimum is at most {percent(gap)} below the {objective} found"
    known = f" ({objective} at least {at_least(bound)})" if bound is not None else ""
    return f"; the proven bound is still far{known}"


def briefly(search: Mapping[str, Any]) -> str:
    """Whether a search proved its result, for a cell of a table."""
    if search["proven_optimal"]:
        return "yes"
    gap = search["gap"]
    return "no" if gap is None or gap > FAR else f"no, ≤ {percent(gap)}"


def decimals(scores: Iterable[float | None]) -> int:
    """Digits after the point with which all scores of a table are written."""
    known = [s for s in scores if s is not None and math.isfinite(s)]
    top = max(map(abs, known), default=1.0)
    if top >= 10 and all(float(score).is_integer() for score in known):
        return 0
    return 6 if 0 < top < 0.01 else max(0, 4 - math.floor(math.log10(max(top, 1.0))))
