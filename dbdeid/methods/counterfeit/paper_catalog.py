"""The published catalog: groups of classes by Algorithm 2 (Lee, Kim & Chung 2017, section 4.2).

A group starts from a class with counterfeit records and takes in others until, for each class of it
and each value, real records of the other classes could be all the counterfeits of the class
(Lemma 1). How ties are broken the paper does not say: here comes next what has most of the real
records that are missing, a class or a whole group, then what has the class with the lowest number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def groups(real: Ints, drawn: Ints) -> Ints | None:
    """The group of each class, -1 of those in none; None where no other class has what is missing.

    Args:
        real: how many records of each value a class has (shape: classes, values).
        drawn: how many counterfeit records of each value it got.
    """
    owner = np.arange(len(real))  # each class alone, then under the first class of its group
    total = real.copy()  # of each group, where its first class is
    for start in np.flatnonzero(drawn.any(axis=1)):
        first = owner[start]
        while (missing := _missing(real, drawn, owner == first)).any():
            use = np.minimum(total, missing).sum(axis=1)
            use[owner != np.arange(len(owner))] = 0
            use[first] = 0
            best = int(np.argmax(use))
            if not use[best]:
                return None
            total[first] += total[best]
            owner[owner == best] = first
    used = np.unique(owner[drawn.any(axis=1)])
    numbers = np.searchsorted(used, owner)
    known = np.isin(owner, used)
    return np.where(known, numbers, -1)


def _missing(real: Ints, drawn: Ints, group: NDArray[np.bool_]) -> Ints:
    """How many real records of each value a group still needs for Lemma 1."""
    own = real[group]
    return np.asarray(np.maximum(0, drawn[group] - (own.sum(axis=0) - own)).max(axis=0))


def risk(real: Ints, drawn: Ints, groups: Ints, candidate: Ints) -> float:
    """The greatest probability that a record is a given person's, for whoever knows the method.

    Only candidates can hold counterfeit records: their share among the records of a value in the
    candidates of the group is what an adversary knows of a record.

    Args:
        real: how many records of each value a class has.
        drawn: how many counterfeit records of each value it got.
        groups: the group of each class, -1 of those in none.
        candidate: 0 or more of a class that has the size of padded ones.
    """
    worst = 0.0
    suspected = candidate >= 0
    for number in range(int(groups.max(initial=-1)) + 1):
        members = np.flatnonzero((groups == number) & suspected)
        held = (real + drawn)[members]
        genuine = 1 - drawn[members].sum(axis=0) / np.maximum(held.sum(axis=0), 1)
        weights = (held * genuine).sum(axis=1)
        most = np.where(held > 0, genuine, 0).max(axis=1, initial=0.0)
        worst = max(worst, float((most / np.maximum(weights, 1e-12)).max(initial=0.0)))
    alone = np.flatnonzero((groups < 0) | ~suspected)
    sizes = (real + drawn)[alone].sum(axis=1)
    return max(worst, float((1 / sizes).max(initial=0.0)))
