"""Places of numbers, looked up many at a time: in a dense array, or by hashing in a sparse one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

DENSE = 1 << 22  # numbers up to which a dense array is kept in any case
SCANNED = 8  # numbers per entry up to which it is kept
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio (Knuth, TAOCP 3, section 6.4)


class Places:
    """A place, from 0, of each of some numbers.

    Args:
        numbers: distinct; the first is at place 0.
        space: they are below it, and it is at most 2^62.
    """

    def __init__(self, numbers: Ints, space: int) -> None:
        self._dense = space <= max(DENSE, SCANNED * len(numbers))
        self._numbers = np.empty(0, np.int64)
        self._entries = 0
        if self._dense:
            self._places = np.full(space, -1, np.int32)
            self._places[numbers] = np.arange(len(numbers), dtype=np.int32)
        else:
            self._room(len(numbers))
            self.put(numbers, np.arange(len(numbers)))

    def copy(self) -> Places:
        """A copy that is changed on its own."""
        other = object.__new__(Places)
        other._dense, other._entries = self._dense, self._entries
        other._places, other._numbers = self._places.copy(), self._numbers.copy()
        return other

    def find(self, numbers: Ints) -> Ints:
        """The place of each number, -1 where it has none."""
        if self._dense:
            return self._places[numbers].astype(np.int64)
        found = np.full(len(numbers), -1, np.int64)
        slots, left = self._slots(numbers), np.arange(len(numbers))
        while len(left):
            there = self._numbers[slots]
            hit = there == numbers[left]
            found[left[hit]] = self._places[slots[hit]]
            on = ~hit & (there >= 0)
            slots, left = (slots[on] + 1) % len(self._numbers), left[on]
        return found

    def put(self, numbers: Ints, places: Ints) -> None:
        """Keep the places of distinct numbers that have none yet."""
        if self._dense:
            self._places[numbers] = places
            return
        if 2 * (self._entries + len(numbers)) > len(self._numbers):
            full = self._numbers >= 0
            known, at = self._numbers[full], self._places[full]
            self._room(len(known) + len(numbers))
            self.put(known, at.astype(np.int64))
        self._entries += len(numbers)
        slots = self._slots(numbers)
        while len(numbers):
            free = self._numbers[slots] < 0
            # of several numbers with one slot the last one gets it
            self._numbers[slots[free]] = numbers[free]
            mine = self._numbers[slots] == numbers
            self._places[slots[mine]] = places[mine]
            on = ~mine
            numbers, places = numbers[on], places[on]
            slots = (slots[on] + 1) % len(self._numbers)

    def _room(self, entries: int) -> None:
        """Empty slots, a power of two of them, for these many entries and as many again."""
        size = 1 << max(4, (4 * entries).bit_length())
        self._numbers = np.full(size, -1, np.int64)
        self._places = np.full(size, -1, np.int32)
        self._entries = 0

    def _slots(self, numbers: Ints) -> Ints:
        bits = len(self._numbers).bit_length() - 1
        spread = numbers.astype(np.uint64) * SPREAD
        return (spread >> np.uint64(64 - bits)).astype(np.int64)
