"""Attributes packed into a few super-columns, and what a node makes of the codes of each.

The key of a row then costs two or three gathers: what the levels of a node make of a super-column
is an outer sum of per-attribute lookups.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.lattice import Attribute, Node, outer_sum
from dbdeid.lattice.tuples import Tuples

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.integer[Any]]

PACKED = 65_536  # most combinations of values in one super-column, so that they fit uint16
LOOKUP_BYTES = 64 << 20  # lookups kept


class Column:
    """One attribute reduced to the values that occur, told apart as far as its least level does."""

    def __init__(
        self, attribute: Attribute, share: float, codes: Codes, cells: Sequence[Floats]
    ) -> None:
        self.least = attribute.min_level
        used = np.flatnonzero(np.bincount(codes, minlength=attribute.cardinality))
        group = np.unique(attribute.groups[self.least][used], return_inverse=True)[1]
        self.size = int(group.max(initial=-1)) + 1
        member = np.zeros(self.size, dtype=np.int64)
        member[group] = used
        self.renumbered = np.zeros(attribute.cardinality, dtype=np.int64)  # value code -> code
        self.renumbered[used] = group
        self.groups: list[Ints] = []  # level - least -> code -> group
        self.members: list[Ints] = []  # level - least -> group -> a code in it
        self.values: list[Ints] = []  # level - least -> group -> a value code in it
        self.loss: list[Floats] = []  # level - least -> group -> weighted loss of the cell
        self.cells: list[Floats] = []  # as loss, the numbers of the tally if there is one
        self.nulls: list[int] = []  # level - least -> group of NULL, -1 where there is none
        null = attribute.null if attribute.null is not None and attribute.null in used else None
        for level in range(self.least, attribute.most_general + 1):
            _, first, groups = np.unique(
                attribute.groups[level][member], return_index=True, return_inverse=True
            )
            self.groups.append(groups)
            self.members.append(first)
            self.values.append(member[first])
            self.loss.append(share * attribute.loss[level][member[first]])
            if cells:
                self.cells.append(cells[level][member[first]])
            blank = null is not None and level < attribute.height
            self.nulls.append(int(groups[self.renumbered[null]]) if blank else -1)


@dataclass(frozen=True)
class Digit:
    """Where the group of one attribute stands in the group of its super-column."""

    attribute: int
    radix: int
    size: int
    null: int  # the group of NULL, -1 where there is none
    value: Ints  # group -> a value code in it

    def of(self, groups: Ints) -> Ints:
        """The attribute's group in each group of the super-column."""
        return groups // self.radix % self.size


@dataclass(frozen=True)
class Lookup:
    """What the levels of a node make of the codes of one super-column."""

    group: Ints  # code -> group
    members: tuple[Ints, ...]  # of each attribute, what a group of it adds to the code of a member
    loss: Floats  # group -> weighted loss of its cells
    digits: tuple[Digit, ...]
    cells: Floats  # group -> sum of the tally's numbers for its cells; empty without one

    @cached_property
    def member(self) -> Ints:
        """A code in each group; few lookups need it."""
        return outer_sum(self.members)

    @property
    def size(self) -> int:
        """How many groups there are."""
        return len(self.loss)

    @property
    def nbytes(self) -> int:
        """The memory it may take up."""
        return self.group.nbytes + 2 * self.loss.nbytes + self.cells.nbytes


class Pack:
    """A super-column: some attributes in one mixed-radix code."""

    def __init__(self, members: list[int], columns: list[Column]) -> None:
        self._members = members
        self._columns = columns
        self._lookups: OrderedDict[Node, Lookup] = OrderedDict()
        self._bytes = 0

    def codes(self, tuples: Tuples) -> NDArray[np.unsignedinteger[Any]]:
        """The code in each tuple."""
        size = prod(column.size for column in self._columns)
        code = np.zeros(len(tuples.weights), dtype=np.uint32)
        for i, column in zip(self._members, self._columns, strict=True):
            code *= np.uint32(column.size)
            code += column.renumbered.astype(np.uint32)[tuples.codes[i]]
        return code.astype(np.uint16) if size <= PACKED else code

    def lookup(self, node: Node) -> Lookup:
        """The lookup of a node, kept for the next node with the same levels here."""
        levels = tuple(node[i] for i in self._members)
        if levels in self._lookups:
            self._lookups.move_to_end(levels)
            return self._lookups[levels]
        self._lookups[levels] = made = self._make(levels)
        self._bytes += made.nbytes
        while self._bytes > LOOKUP_BYTES and len(self._lookups) > 1:
            self._bytes -= self._lookups.popitem(last=False)[1].nbytes
        return made

    def _make(self, levels: Node) -> Lookup:
        columns = [
            (i, column, level - column.least)
            for i, column, level in zip(self._members, self._columns, levels, strict=True)
        ]
        groups, members, losses, digits = [], [], [], []
        cells: list[Floats] = []
        radix, size = 1, 1
        for i, column, at in reversed(columns):
            digits.append(
                Digit(i, radix, len(column.members[at]), column.nulls[at], column.values[at])
            )
            groups.append(column.groups[at] * radix)
            members.append(column.members[at] * size)
            losses.append(column.loss[at])
            cells += column.cells[at : at + 1]
            radix *= len(column.members[at])
            size *= column.size
        group, loss = (outer_sum(terms[::-1]) for terms in (groups, losses))
        tally = outer_sum(cells[::-1]) if cells else np.zeros(0)
        return Lookup(group, tuple(members[::-1]), loss, tuple(digits), tally)


def packing(sizes: list[int]) -> list[list[int]]:
    """Put attributes together, largest first, while the product of their sizes allows uint16."""
    packs: list[list[int]] = []
    for i in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        for pack in packs:
            if sizes[i] * prod(sizes[j] for j in pack) <= PACKED:
                pack.append(i)
                break
        else:
            packs.append([i])
    return packs
