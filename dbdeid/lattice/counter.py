"""Counting the records behind equal keys: the classes of a node.

Keys in a small space are counted by direct addressing, others by sorting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.packed_columns import Lookup
from dbdeid.lattice.tuples import Values

Ints = NDArray[np.int64]

BLOCK = 1 << 16  # rows looked up at a time
SCANNED = 6  # key space per row up to which all counts are scanned
MOST_SCANNED = 1 << 24  # key space, too, up to which they are: 128 MB
ADDRESSED = 1 << 22  # key space up to which counts are addressed directly
_NONE = np.zeros(0, dtype=np.int64)


class Table:
    """Rows of super-column codes with the records behind each: tuples, or classes of a node.

    Few class tables are ever looked at again, so that their values are made on demand.
    """

    def __init__(
        self,
        columns: tuple[NDArray[np.unsignedinteger[Any]], ...],
        weights: Ints,
        values: Callable[[], tuple[Values, ...]],
        held: int = 0,
    ) -> None:
        self.columns = columns
        self.weights = weights
        self._make_values = values
        self._held = held  # bytes that the values are made from, and then theirs

    @cached_property
    def values(self) -> tuple[Values, ...]:
        """The sensitive attributes of the rows."""
        made = self._make_values()
        self._make_values = lambda: made  # what they were made from is not needed any more
        self._held = sum(values.nbytes for values in made)
        return made

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.weights)

    @property
    def nbytes(self) -> int:
        """The memory it takes up, with its values, or what they are made from."""
        return self._held + self.weights.nbytes + sum(column.nbytes for column in self.columns)


@dataclass(frozen=True)
class Classes:
    """Keys of the classes with their sizes.

    A key is a mixed-radix number of super-column groups; where it would have overflowed, its
    leading digits were renumbered, and `renumbered` holds what they were.
    """

    keys: Ints
    counts: Ints
    sizes: tuple[int, ...]
    renumbered: dict[int, Ints]
    spread: Callable[[Ints], Ints]  # from something of each class to that of each row

    def codes(self, keys: Ints) -> list[Ints]:
        """The groups of each super-column in the given keys."""
        codes: list[Ints] = []
        for place in range(len(self.sizes) - 1, 0, -1):
            rest = keys // self.sizes[place]
            codes.append(keys - rest * self.sizes[place])
            keys = self.renumbered[place][rest] if place in self.renumbered else rest
        return [keys, *reversed(codes)]


class Counter:
    """Counts the records behind equal keys; holds memory that is reused from check to check.

    The memory is zero between two counts. Whoever uses it takes it out and puts it back as zeros,
    so that a count that is interrupted leaves none behind, rather than a dirty one.
    """

    def __init__(self) -> None:
        self._scratch = _NONE

    def count(self, table: Table, lookups: Sequence[Lookup]) -> Classes:
        """The classes that the lookups make of a table."""
        shift = int(table.weights.max(initial=1)).bit_length()
        key, space, renumbered = _keys(table, lookups, most=1 << (62 - shift))
        if space <= max(min(SCANNED * table.rows, MOST_SCANNED), 1024):
            keys, counts = self._scan(key, table.weights, space)
        elif space <= ADDRESSED:
            keys, counts = self._address(key, table.weights, space)
        else:
            keys, counts = _sort(key, table.weights, shift)
        sizes = tuple(lookup.size for lookup in lookups)
        spread = partial(self._spread, key=key, keys=keys, space=space)
        return Classes(keys, counts, sizes, renumbered, spread)

    def _spread(self, of_class: Ints, key: Ints, keys: Ints, space: int) -> Ints:
        """What each row's class is given, from what is given to each of the distinct keys."""
        if space > ADDRESSED:  # then they are sorted
            return of_class[np.searchsorted(keys, key)]
        cells = self._take(space)
        cells[keys] = of_class
        found = cells[key]
        cells[keys] = 0
        self._scratch = cells
        return found

    def _scan(self, key: Ints, weights: Ints, space: int) -> tuple[Ints, Ints]:
        counts = self._take(space)
        np.add.at(counts, key, weights)
        keys = np.flatnonzero(counts[:space])
        found = counts[keys]
        counts[keys] = 0
        self._scratch = counts
        return keys, found

    def _address(self, key: Ints, weights: Ints, space: int) -> tuple[Ints, Ints]:
        """As `_scan` where the space is much larger than the rows: look only where keys are."""
        cells = self._take(space)
        np.add.at(cells, key, weights)
        sums = cells[key]
        rows = np.arange(len(key))
        cells[key] = rows
        chosen = np.flatnonzero(cells[key] == rows)
        keys = key[chosen]
        cells[keys] = 0
        self._scratch = cells
        return keys, sums[chosen]

    def _take(self, space: int) -> Ints:
        """At least so many zeros."""
        taken, self._scratch = self._scratch, _NONE
        return taken if len(taken) >= space else np.zeros(space, dtype=np.int64)


def _keys(table: Table, lookups: Sequence[Lookup], most: int) -> tuple[Ints, int, dict[int, Ints]]:
    """The class key of every row, the size of the key space, and renumbered leading digits."""
    renumbered: dict[int, Ints] = {}
    key, space = np.zeros(table.rows, dtype=np.int64), 1
    for place, (lookup, column) in enumerate(zip(lookups, table.columns, strict=True)):
        if space * lookup.size > most:
            renumbered[place], key = np.unique(key, return_inverse=True)
            space = len(renumbered[place])
        for start in range(0, table.rows, BLOCK):  # so that temporaries stay in the cache
            part = key[start : start + BLOCK]
            part *= lookup.size
            part += lookup.group.take(column[start : start + BLOCK])
        space *= lookup.size
    return key, space, renumbered


def _sort(key: Ints, weights: Ints, shift: int) -> tuple[Ints, Ints]:
    """Sort keys with their weights in the low bits, then add up runs of equal keys."""
    packed = key << shift
    packed |= weights
    packed.sort()
    key = packed >> shift
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    keys = key[starts]
    del key
    packed &= (1 << shift) - 1
    return keys, np.add.reduceat(packed, starts)
