"""The HIPAA Safe Harbor rule as a policy (45 CFR 164.514(b)(2)), as far as intervals can say it.

Ages of 90 and more are one interval; ZIP codes are told by their first three digits, and areas of
no more than 20,000 people are pooled. The rule writes 000 for all small areas; intervals can pool
neighbours only, so a small area joins the smaller of the areas beside it until both are large
enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

OLDEST = 90  # ages from here on are one
DIGITS = 3  # of a ZIP code that are told
SMALL = 20_000  # people of an area that is not told


def age_starts(ages: Sequence[float]) -> Ints:
    """Where the intervals of ages start: each age below 90 has its own, all others share one.

    Args:
        ages: the values of the domain, ascending.
    """
    return np.array([i for i, age in enumerate(ages) if i == 0 or ages[i - 1] < OLDEST], np.int64)


def zip_starts(zips: Sequence[str], people: Ints) -> tuple[Ints, list[int]]:
    """Where the intervals of ZIP codes start, and the areas that are too small to stand alone.

    Args:
        zips: the values of the domain, in its order.
        people: of each of them.

    Returns:
        the places of the first values of the intervals; and those of the small areas, before they
        were pooled.
    """
    areas = [code[:DIGITS] for code in zips]
    starts = [0, *(i + 1 for i, (one, next_) in enumerate(pairwise(areas)) if one != next_)]
    sizes = [int(part.sum()) for part in np.split(people, starts[1:])]
    small = [start for start, size in zip(starts, sizes, strict=True) if size <= SMALL]
    while len(starts) > 1 and min(sizes) <= SMALL:
        at = sizes.index(min(sizes))
        left = at - 1 if at else None
        right = at + 1 if at + 1 < len(sizes) else None
        if right is None or (left is not None and sizes[left] <= sizes[right]):
            at -= 1
        sizes[at : at + 2] = [sizes[at] + sizes[at + 1]]
        del starts[at + 1]
    return np.array(starts, np.int64), small
