"""Numbers as pages and sentences write them."""

from __future__ import annotations

import math


def count(value: float | None) -> str:
    """A whole number with its thousands set apart; a dash where there is none."""
    return "–" if value is None else f"{value:,.0f}"


def share(value: float | None) -> str:
    """A share of 1 as percent, with no more digits than can be read.

    >>> share(0.04462), share(1.0), share(0.000012), share(0)
    ('4.5%', '100%', '0.0012%', '0%')
    """
    if value is None or not math.isfinite(value):
        return "–"
    percent = 100 * value
    if percent and abs(percent) < 0.1:
        return f"{percent:.2g}%"
    return f"{percent:,.1f}".removesuffix(".0") + "%"


def part(some: int, whole: int) -> str:
    """The share that some are of a whole; only all of them are 100%.

    >>> part(1, 8), part(69_745, 69_750), part(8, 8), part(0, 0)
    ('12.5%', '>99.9%', '100%', '0%')
    """
    text = share(some / whole if whole else 0.0)
    return ">99.9%" if text == "100%" and some < whole else text


def number(value: float | None) -> str:
    """A measured number: whole if it is whole, else to four significant digits."""
    if value is None or not math.isfinite(value):
        return "–"
    if float(value).is_integer() or abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
