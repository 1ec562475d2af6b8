"""What a small pool reveals to an exhaustive attacker: every way its catalog can be true.

Elsewhere each record of a value is suspected alike. Where few records are counterfeit, what is
known of them together tells more: a padded class has fewer than k real records, at least one, and
all counterfeits of the catalog must find a class. So one class alone may be able to hold them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import product
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Drawn = tuple[int, ...]  # counterfeits of each value
Ways = dict[Drawn, int]  # sets of records that could be these counterfeits

STEPS = 1 << 20  # most combinations that are gone through


def prosecutor_risk(held: Ints, drawn: Ints, k: int, certain: Ints | None = None) -> float | None:
    """The greatest probability that a record is a given person's of its class.

    All sets of records that could be the counterfeits are taken to be equally probable.

    Args:
        held: how many records of each value the candidates have (shape: classes, values).
        drawn: how many of each value are counterfeit.
        k: padded classes have fewer real records.
        certain: how many of those held cannot be counterfeit; None: all may be.

    Returns:
        None where there are too many sets.
    """
    values = np.flatnonzero(drawn)
    goal = tuple(int(n) for n in drawn[values])
    size = int(held[0].sum()) if len(held) else 0
    states = prod(n + 1 for n in goal)
    if held.size * states**2 > STEPS:
        return None
    doubtful = held if certain is None else held - certain
    choices = [_choices(own, goal, size, k) for own in doubtful[:, values].tolist()]
    start: Ways = {(0,) * len(goal): 1}
    before, after = [start], [start]
    for own in choices:
        before.append(_with(before[-1], own, goal))
    for own in reversed(choices):
        after.append(_with(after[-1], own, goal))
    total = before[-1].get(goal, 0)
    worst = 0.0
    for i, own in enumerate(choices):
        shares = np.zeros(held.shape[1])
        for counterfeit, ways in own.items():
            rest = tuple(n - c for n, c in zip(goal, counterfeit, strict=True))
            ways *= _meeting(before[i], after[-2 - i], rest)
            real = held[i].astype(np.float64)
            real[values] -= counterfeit
            shares += ways / total * real / np.maximum(held[i], 1) / real.sum()
        worst = max(worst, float(shares.max()))
    return worst


def _choices(held: Sequence[int], goal: Drawn, size: int, k: int) -> Ways:
    """The counterfeits that a class could have, and of how many sets of its records."""
    found: Ways = {}
    for counterfeit in product(*(range(min(n, g) + 1) for n, g in zip(held, goal, strict=True))):
        real = size - sum(counterfeit)
        if real == size or 1 <= real < k:
            found[counterfeit] = prod(comb(n, c) for n, c in zip(held, counterfeit, strict=True))
    return found


def _with(ways: Ways, own: Ways, goal: Drawn) -> Ways:
    """The counterfeits of some classes and one more."""
    found: defaultdict[Drawn, int] = defaultdict(int)
    for (one, n), (other, m) in product(ways.items(), own.items()):
        both = tuple(a + b for a, b in zip(one, other, strict=True))
        if _within(both, goal):
            found[both] += n * m
    return dict(found)


def _meeting(before: Ways, after: Ways, rest: Drawn) -> int:
    """How many sets of the other classes have these counterfeits."""
    return sum(
        ways * after.get(tuple(n - c for n, c in zip(rest, one, strict=True)), 0)
        for one, ways in before.items()
    )


def _within(some: Iterable[int], most: Iterable[int]) -> bool:
    return all(n <= m for n, m in zip(some, most, strict=True))
