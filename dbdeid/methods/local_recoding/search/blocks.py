"""Q-blocks: the records of a table in groups that are each recoded on their own (Yoo et al. 2012).

Records are taken in *units*: those alike in all quasi-identifiers and sensitive values, and of one
subject where subjects are declared. The records of a unit may go to several blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.rule import Condition
from dbdeid.lattice.sensitive_counts import Entries
from dbdeid.lattice.tuples import Tuples

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

LEFT = -1  # the block of records that have none


@dataclass(frozen=True)
class Blocks:
    """Which records are in which block, in pieces of units.

    Attributes:
        row: the unit of each piece.
        block: its block, numbered densely from 0; `LEFT` for records that have none.
        records: how many records of the unit it has, at least 1.
    """

    row: Ints
    block: Ints
    records: Ints

    @cached_property
    def number(self) -> int:
        """How many blocks there are."""
        return int(self.block.max(initial=LEFT)) + 1

    @cached_property
    def sizes(self) -> Ints:
        """The records of each block."""
        placed = self.block >= 0
        sums = np.bincount(self.block[placed], self.records[placed], self.number)
        return np.asarray(np.rint(sums), np.int64)

    @property
    def left(self) -> int:
        """How many records have no block."""
        return int(self.records[self.block < 0].sum())

    def tidied(self) -> Blocks:
        """The same with one piece for each unit and block, by block and unit, without gaps.

        Blocks are numbered in the order of their numbers so far; pieces of no records are gone.
        """
        there = np.flatnonzero(self.records)
        numbers, block = np.unique(self.block[there], return_inverse=True)
        block = block - int(numbers[:1].min(initial=0) < 0)
        order = np.lexsort((self.row[there], block))
        row, records = self.row[there[order]], self.records[there[order]]
        block = block[order]
        first = np.flatnonzero(
            (np.diff(row, prepend=-1) != 0) | (np.diff(block, prepend=LEFT - 1) != 0)
        )
        sums = np.add.reduceat(records, first) if len(first) else records
        return Blocks(row[first], block[first].astype(np.int64), sums)


@dataclass(frozen=True)
class Demands:
    """What every block must hold.

    Attributes:
        units: records by unit: `weights` of each row, and of each sensitive attribute one value a
            row (`values[i].row` counts up from 0); `subjects` where they count.
        k: records, or distinct subjects, of a block.
        conditions: of each sensitive attribute.
    """

    units: Tuples
    k: int
    conditions: Sequence[Condition]

    def of_units(self, attribute: int) -> Ints:
        """The value of each unit on a sensitive attribute."""
        return self.units.values[attribute].value

    def hold(self, blocks: Blocks) -> Mask:
        """Which blocks hold everything."""
        placed = blocks.block >= 0
        return self.held(
            blocks.row[placed], blocks.block[placed], blocks.records[placed], blocks.number
        )

    def held(self, row: Ints, block: Ints, records: Ints, number: int) -> Mask:
        """Which of a number of blocks hold everything.

        Args:
            row: the unit of each piece; pieces of one unit and block may repeat.
            block: its block, below `number`.
            records: of the piece, at least 1.
            number: how many blocks there are.
        """
        sizes = self._counted(row, block, records, number)
        held: Mask = sizes >= max(self.k, 1)
        for i, condition in enumerate(self.conditions):
            chosen = np.flatnonzero(held)
            if not len(chosen):
                break
            place = np.full(number, -1)
            place[chosen] = np.arange(len(chosen))
            of_class = place[block]
            inside = of_class >= 0
            entries = self._entries(i, row[inside], of_class[inside], records[inside])
            held[chosen] = condition(sizes[chosen], entries)[0]
        return held

    def _counted(self, row: Ints, group: Ints, records: Ints, groups: int) -> Ints:
        """The subjects of each group, or its records where each is one."""
        if self.units.subjects is None:
            return np.asarray(np.rint(np.bincount(group, records, groups)), np.int64)
        subjects = self.units.subjects[row].astype(np.int64)
        pairs = np.unique(group * self.units.people + subjects)
        return np.bincount(pairs // max(self.units.people, 1), minlength=groups)

    def _entries(self, attribute: int, row: Ints, of_class: Ints, records: Ints) -> Entries:
        values = self.units.values[attribute]
        key = of_class * values.cardinality + values.value[row]
        found, place = np.unique(key, return_inverse=True)
        count = self._counted(row, place.ravel(), records, len(found))
        of_class = found // values.cardinality
        return Entries(of_class, found - of_class * values.cardinality, count)
