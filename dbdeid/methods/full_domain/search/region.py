"""The open region of a search: the nodes that may still be the optimum, with their bounds.

Nodes are packed into one integer each, a guard bit above every level, so that u ≤ v is one
subtraction: no guard bit is borrowed from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.exploration import SAME, Checked
from dbdeid.lattice.lattice import Lattice, Node, outer_sum

Packed = NDArray[np.uint64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

BLOCK = 1 << 18  # nodes generated at a time


class Packing:
    """Nodes of a lattice as integers of at most 64 bits, in the order of the node numbers."""

    def __init__(self, lattice: Lattice) -> None:
        self._lows = lattice.bottom
        widths = _widths(lattice)
        ends = [*accumulate(reversed(widths))][::-1]
        self.shifts = [end - width for end, width in zip(ends, widths, strict=True)]
        self.masks = [(1 << max(width - 1, 0)) - 1 for width in widths]
        guards = (1 << (e - 1) for e, width in zip(ends, widths, strict=True) if width)
        self.guard = np.uint64(sum(guards))
        self._digits = [
            np.array([i << shift for i in range(count)], dtype=np.uint64)
            for count, shift in zip(lattice.shape, self.shifts, strict=True)
        ]

    @staticmethod
    def fits(lattice: Lattice) -> bool:
        """Whether the nodes of a lattice can be packed."""
        return sum(_widths(lattice)) <= 64

    def pack(self, node: Node) -> np.uint64:
        """One node."""
        levels = zip(node, self._lows, self._digits, strict=True)
        return np.uint64(sum(int(digits[level - low]) for level, low, digits in levels))

    def node(self, packed: np.uint64) -> Node:
        """The node that was packed."""
        return tuple(
            low + ((int(packed) >> shift) & mask)
            for low, shift, mask in zip(self._lows, self.shifts, self.masks, strict=True)
        )

    def at(self, offsets: Sequence[NDArray[Any]] | NDArray[Any]) -> Packed:
        """Nodes given by level - min_level per attribute."""
        packed = np.zeros(len(offsets[0]), dtype=np.uint64)
        for digits, offset in zip(self._digits, offsets, strict=True):
            packed += digits[offset]
        return packed

    def offsets(self, packed: Packed) -> Iterator[NDArray[np.int64]]:
        """Per attribute, level - min_level of the given nodes."""
        for shift, mask in zip(self.shifts, self.masks, strict=True):
            levels = packed >> np.uint64(shift)
            levels &= np.uint64(mask)
            yield levels.view(np.int64)

    def at_most(self, lower: Packed | np.uint64, upper: Packed | np.uint64) -> Mask:
        """Where lower ≤ upper componentwise; broadcasts."""
        difference = np.asarray((upper | self.guard) - lower)
        difference &= self.guard
        return np.asarray(difference == self.guard)

    def exceeding(self, upper: Packed, node: np.uint64) -> Packed:
        """The guard bits of the attributes in which nodes are above another."""
        return np.asarray(~((node | self.guard) - upper) & self.guard)

    def just_above(self, nodes: Packed, node: np.uint64, guard: np.uint64) -> Packed:
        """The nodes with the attribute of a guard bit one level above that of another node."""
        end = int(guard).bit_length()
        start = next(
            s
            for s, mask in zip(self.shifts, self.masks, strict=True)
            if s < end <= s + mask.bit_length() + 1 and mask
        )
        field = np.uint64(((1 << end) - 1) ^ ((1 << start) - 1))
        return np.asarray((nodes & ~field) | ((node & field) + np.uint64(1 << start)))

    def blocks(self, terms: Sequence[Floats]) -> Iterator[tuple[Packed, Floats]]:
        """All nodes in order, some at a time, with the sum of their terms."""
        split, size = len(terms), 1
        while split > 0 and size * len(terms[split - 1]) <= BLOCK:
            split -= 1
            size *= len(terms[split])
        heads = outer_sum([np.zeros(1, np.uint64), *self._digits[:split]])
        head_sums = outer_sum([np.zeros(1), *terms[:split]])
        tail = outer_sum([np.zeros(1, np.uint64), *self._digits[split:]])
        for head, total in zip(heads, head_sums, strict=True):
            yield tail + head, outer_sum([np.full(1, total), *terms[split:]])


def _widths(lattice: Lattice) -> list[int]:
    """Per attribute, the bits of its level - min_level and the guard bit."""
    return [(count - 1).bit_length() + (count > 1) for count in lattice.shape]


def may_win(
    packing: Packing, packed: Packed, bound: Floats, incumbent: Checked | None
) -> NDArray[np.bool_]:
    """Which nodes may be better than the incumbent, or win a tie with it.

    Args:
        packing: of the nodes.
        packed: the nodes.
        bound: lower bounds on their scores.
        incumbent: the best so far, if any.
    """
    if incumbent is None:
        return np.ones(len(packed), np.bool_)
    best = incumbent.score
    may = bound < best - SAME * abs(best)
    tied = np.flatnonzero(~may & (bound <= best + SAME * abs(best)))
    if len(tied):
        own = packing.pack(incumbent.node)
        rank, own_rank = (sum(packing.offsets(p)) for p in (packed[tied], np.array([own])))
        may[tied] = (rank < own_rank) | ((rank == own_rank) & (packed[tied] < own))
    return may


class Region:
    """The open nodes, in the order of their numbers.

    Args:
        packing: of the lattice.
        blocks: packed nodes with what is known of them; all that may still be the optimum.
        whole: these are all; else a sample, in any order.
    """

    def __init__(
        self, packing: Packing, blocks: Iterable[tuple[Packed, Floats]], whole: bool = True
    ) -> None:
        self._packing = packing
        self.whole = whole
        packed, known = [np.zeros(0, np.uint64)], [np.zeros(0)]
        for some_packed, some_known in blocks:
            packed.append(some_packed)
            known.append(some_known)
        self.packed = np.concatenate(packed)
        del packed  # millions of nodes
        self.known = np.concatenate(known)
        del known
        if np.any(self.packed[1:] <= self.packed[:-1]):
            self.packed, first = np.unique(self.packed, return_index=True)
            self.known = self.known[first]
        self.bound = self.known.copy()

    def __len__(self) -> int:
        return len(self.packed)

    def below(self, packed: np.uint64) -> Mask:
        """Which open nodes are at or below a node."""
        return self._packing.at_most(self.packed, packed)

    def above(self, packed: np.uint64) -> Mask:
        """Which open nodes are at or above a node."""
        return self._packing.at_most(packed, self.packed)

    def contains(self, packed: Packed) -> Mask:
        """Which of the given nodes are open; there must be open nodes."""
        place = np.minimum(np.searchsorted(self.packed, packed), len(self.packed) - 1)
        return np.asarray(self.packed[place] == packed)

    def keep(self, mask: Mask) -> None:
        """Close all other nodes."""
        if not mask.all():
            self.packed, self.known, self.bound = (
                self.packed[mask],
                self.known[mask],
                self.bound[mask],
            )
