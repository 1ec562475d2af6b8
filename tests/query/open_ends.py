"""Figures that were computed twice, with open ends that end elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from expansion import Figure

NEAR = 1e-9  # how far an expected value may be from its brute-force twin, relative to 1 or to it
UNKNOWN = "unknown"  # a bound that is somewhere beyond an open end

Key = tuple[Any, ...]


def agree(one: dict[Key, list[Figure]], two: dict[Key, list[Figure]]) -> bool:
    """Whether what is expected does not depend on where open ends end."""
    if one.keys() != two.keys():
        return False
    for key in one:
        for a, b in zip(one[key], two[key], strict=True):
            if abs(a.mass - b.mass) > NEAR:
                return False
            if (a.expected is None) != (b.expected is None):
                return False
            gap = abs((a.expected or 0.0) - (b.expected or 0.0))
            if gap > NEAR * max(1.0, abs(a.expected or 0.0)):
                return False
    return True


def both(one: list[Figure], two: list[Figure]) -> list[Figure]:
    """The figures, without the bounds that depend on where open ends end."""
    return [
        replace(
            a,
            lower=a.lower if a.lower == b.lower else UNKNOWN,
            upper=a.upper if a.upper == b.upper else UNKNOWN,
        )
        for a, b in zip(one, two, strict=True)
    ]
