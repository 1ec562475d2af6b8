"""Records that agree where neither is NULL: classes in which NULL may be anything."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Frequencies:
    """How many records agree with each class where neither is NULL (Benedetti & Franconi 1998).

    Classes are taken together by which attributes are NULL in them: between two such patterns it
    is the attributes present in both that must agree.
    """

    def __init__(self, groups: Ints, nulls: Mask) -> None:
        patterns, which = np.unique(nulls, axis=1, return_inverse=True)
        members = [np.flatnonzero(which.ravel() == i) for i in range(patterns.shape[1])]
        self._size = groups.shape[1]
        self._pairs: list[tuple[Ints, Ints, Ints, Ints]] = []
        for i, own in enumerate(members):
            for j, others in enumerate(members[: i + 1]):
                both = ~(patterns[:, i] | patterns[:, j])
                together = np.concatenate([own, others])
                key = _numbered(groups[both][:, together])
                keys = key[: len(own)], key[len(own) :]
                self._pairs.append((own, others, *keys))
                if i != j:
                    self._pairs.append((others, own, *keys[::-1]))

    def of(self, counts: Ints) -> Ints:
        """The frequency of each class when the classes have these counts."""
        found = np.zeros(self._size, np.int64)
        for own, others, own_key, other_key in self._pairs:
            size = max(own_key.max(initial=0), other_key.max(initial=0)) + 1
            sums = np.zeros(size, np.int64)
            np.add.at(sums, other_key, counts[others])
            found[own] += sums[own_key]
        return found


def _numbered(columns: Ints) -> Ints:
    """A number for each distinct column of an array."""
    number = np.zeros(columns.shape[1], np.int64)
    for row in columns:
        _, number = np.unique(number * (row.max(initial=0) + 1) + row, return_inverse=True)
    return number
