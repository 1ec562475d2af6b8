"""Newton's method for two equations in two unknowns, from one start or several."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

# Two values, and their derivatives by row: d1/dx, d1/dy, d2/dx, d2/dy.
Equations = Callable[[float, float], tuple[tuple[float, ...], tuple[float, ...]]]

ACCURACY = 1e-6


def newton(
    equations: Equations,
    start: tuple[float, float],
    iterations: int,
    allowed: Callable[[float, float], bool] = lambda x, y: True,
) -> tuple[float, float] | None:
    """A point where both equations are zero within 1e-6, or None.

    Args:
        equations: gives their values and derivatives at a point.
        start: where to begin.
        iterations: steps before giving up.
        allowed: the domain; a step out of it ends the search.
    """
    import numpy as np

    x, y = start
    with np.errstate(all="ignore"):
        for _ in range(iterations + 1):
            (one, two), (a, b, c, d) = equations(x, y)
            if abs(one) <= ACCURACY and abs(two) <= ACCURACY:
                return float(x), float(y)
            determinant = a * d - b * c
            if not math.isfinite(determinant) or determinant == 0:
                return None
            x -= (d * one - b * two) / determinant
            y -= (a * two - c * one) / determinant
            if not (math.isfinite(x) and math.isfinite(y) and allowed(x, y)):
                return None
    return None


def starts() -> Iterator[tuple[float, float]]:
    """The sixteen starts that ARX tries in turn: a grid of [0, 1) × [0, 1)."""
    grid = (0.0, 0.33, 0.66, 0.99)
    yield from ((x, y) for x in grid for y in grid)
