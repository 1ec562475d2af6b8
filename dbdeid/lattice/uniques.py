"""Which columns make records unique: counts over sets of columns, on arrays of codes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.tuples import Tuples

WORK = 12_000_000  # rows that all sets of one size may touch
LARGEST = 3  # columns of the largest set that is looked for
MOST = 1 << 62


@dataclass(frozen=True, slots=True)
class Singling:
    """The set of a size by which most records are unique.

    Attributes:
        columns: their numbers, ascending.
        unique: records that no other subject shares these columns with.
        exhaustive: all sets of the size were looked at; else those that extend the best smaller.
    """

    columns: tuple[int, ...]
    unique: int
    exhaustive: bool


class Uniques:
    """Counts of unique records over sets of columns; NULL is a value like others.

    A record is unique where no other subject has its values; without subjects, no other record.

    Args:
        tuples: distinct tuples of codes, for each subject apart where there are subjects.
    """

    def __init__(self, tuples: Tuples) -> None:
        self._codes: list[NDArray[Any]] = list(tuples.codes)
        self._weights = tuples.weights
        self._subjects = tuples.subjects
        self._known: dict[tuple[int, ...], int] = {}

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self._codes)

    def count(self, columns: Sequence[int]) -> int:
        """The records that are unique in some columns; in none, those of a lonely subject."""
        key = tuple(sorted(columns))
        if key not in self._known:
            self._known[key] = self._unique([self._codes[c] for c in key])
        return self._known[key]

    def coarser(self, column: int, groups: NDArray[np.uint32]) -> int:
        """The same over all columns, where one has groups of its values in place of these."""
        codes = [groups[c] if i == column else c for i, c in enumerate(self._codes)]
        return self._unique(codes)

    def worst(self) -> Iterator[Singling]:
        """For each size up to the largest looked for, the set that makes most records unique.

        It ends where no larger set makes more unique, or all columns are in it.
        """
        before: Singling | None = None
        for size in range(1, min(LARGEST, self.width - 1) + 1):
            exhaustive = comb(self.width, size) * len(self._weights) <= WORK
            some: Iterable[tuple[int, ...]] = combinations(range(self.width), size)
            if not exhaustive and before is not None:
                taken = before.columns
                some = [tuple(sorted((*taken, c))) for c in self._others(taken)]
            best = max(some, key=lambda columns: (self.count(columns), [-c for c in columns]))
            found = Singling(best, self.count(best), exhaustive)
            if before is not None and found.unique <= before.unique:
                return
            yield found
            before = found

    def _others(self, columns: Sequence[int]) -> Iterator[int]:
        return (c for c in range(self.width) if c not in columns)

    def _unique(self, codes: Sequence[NDArray[Any]]) -> int:
        keys = _keys(codes, len(self._weights))
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        if not len(ordered):
            return 0
        records = np.add.reduceat(self._weights[order], starts)
        if self._subjects is None:
            return int(np.count_nonzero(records == 1))
        subjects = self._subjects[order]
        alone = np.minimum.reduceat(subjects, starts) == np.maximum.reduceat(subjects, starts)
        return int(records[alone].sum())


def _keys(codes: Sequence[NDArray[Any]], rows: int) -> NDArray[np.int64]:
    """One number for each distinct combination of codes."""
    keys, radix = np.zeros(rows, np.int64), 1
    for column in codes:
        cardinality = int(column.max(initial=0)) + 1
        if radix * cardinality >= MOST:
            distinct, keys = np.unique(keys, return_inverse=True)
            radix = len(distinct)
        keys = keys * cardinality + column
        radix *= cardinality
    return keys
