"""Blocks that grow, one in each part at a time, by the record that costs least.

After the greedy k-member clustering of Byun, Kamra, Bertino & Li 2007: a block begins with the
record farthest from the middle of its part, and takes up that of all others which leaves its cells
cheapest, until it is as large as the models ask. Parts are small, so that this takes a time that
rises with the records and not with their square; and in all parts the same is done at once.

How a block may be made up of sensitive values follows from the conditions (`Condition.portions`).
That only proposes: what is made is judged afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.rule import Portions
from dbdeid.methods.local_recoding.free.measures import Growing, Measure
from dbdeid.methods.local_recoding.free.parts import Records
from dbdeid.methods.local_recoding.search.blocks import LEFT

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

AT_ONCE = 1 << 15  # records, about, whose parts are gone through at once


@dataclass(frozen=True)
class MakeUp:
    """How blocks are made up.

    Attributes:
        portions: of sensitive values.
        value: of each piece.
        rare: of each piece, whether a block must begin with one like it; None: it need not.
    """

    portions: Portions
    value: Ints
    rare: Mask | None


def grown(
    measures: Sequence[Measure],
    records: Records,
    part: Ints,
    make_up: MakeUp,
    settled: Callable[[int], None] | None = None,
) -> Ints:
    """The block of each record, numbered from 0; `LEFT` for those that are too few for one.

    Args:
        measures: of the attributes.
        records: one each.
        part: of each record, numbered densely from 0.
        make_up: how blocks are made up.
        settled: told how many records have a block.
    """
    block = np.full(len(records), LEFT)
    number = 0
    order = np.argsort(part, kind="stable")
    ends = np.flatnonzero(np.diff(part[order], append=-1)) + 1
    cuts = np.unique(np.searchsorted(ends, np.arange(AT_ONCE, len(order) + AT_ONCE, AT_ONCE)))
    for some in np.split(order, ends[cuts[cuts < len(ends) - 1]]):
        # parts of so many records that all of them stay near the processor
        own = MakeUp(
            make_up.portions,
            make_up.value[some],
            None if make_up.rare is None else make_up.rare[some],
        )
        of = np.unique(part[some], return_inverse=True)[1].ravel().astype(np.int64)
        ground = _Ground.of(measures, records.some(some), of, own)
        while ground is not None:
            chosen = ground.grow()
            whole = some[chosen[(chosen >= 0).all(axis=1)]]
            block[whole] = number + np.arange(len(whole))[:, None]
            number += len(whole)
            ground = ground.rest()
        if settled is not None:
            settled(number * make_up.portions.size)
    return block


class _Ground:
    """Parts side by side, their records in places."""

    def __init__(
        self,
        record: Ints,
        there: Mask,
        growing: Sequence[Growing],
        far: Floats,
        make_up: MakeUp,
        value: Ints | None,
    ) -> None:
        self._record = record  # (parts, places)
        self._there = there
        self._growing = growing
        self._far = far  # how far each record is from the middle of its part
        self._make_up = make_up
        self._value = value
        self._stuck = np.zeros(len(record), np.bool_)

    @staticmethod
    def of(
        measures: Sequence[Measure], records: Records, part: Ints, make_up: MakeUp
    ) -> _Ground | None:
        """All parts, with all their records."""
        if not len(records):
            return None
        sizes = np.bincount(part)
        order = np.argsort(part, kind="stable")
        start = np.cumsum(sizes) - sizes
        record = np.repeat(order[start][:, None], int(sizes.max()), axis=1)
        place = np.arange(len(order)) - start[part[order]]
        record[part[order], place] = order
        there = np.arange(record.shape[1]) < sizes[:, None]
        codes = [own[record] for own in records.codes]
        growing = [m.growing(own) for m, own in zip(measures, codes, strict=True)]
        far = np.zeros(record.shape)
        for measure, own in zip(measures, codes, strict=True):
            far += measure.distances(own, there)
        portions = make_up.portions
        plain = portions.different <= 1 and not portions.least.any()
        plain = plain and bool((portions.most >= portions.size).all())
        value = None if plain else make_up.value[record]
        return _Ground(record, there, growing, far, make_up, value).rest()

    def _costs(self) -> NDArray[np.float32]:
        found = np.zeros(self._record.shape, np.float32)
        for own in self._growing:
            found += own.costs()
        return found

    def grow(self) -> Ints:
        """The records of a new block of each part (parts, size); -1 where there is none to take."""
        make_up = self._make_up
        size, rows = make_up.portions.size, np.arange(len(self._record))
        chosen = np.full((len(rows), size), -1)
        used = None if self._value is None else _Used(make_up.portions, self._value)
        seeds = self._there
        if make_up.rare is not None:
            seeds = seeds & make_up.rare[self._record]
        if used is not None:
            seeds = seeds & used.may(size)
        costs = np.where(seeds, -self._far, np.inf)
        for i in range(size):
            place = costs.argmin(axis=1)
            can = np.isfinite(costs[rows, place])
            chosen[can, i] = self._record[rows, place][can]
            self._there[rows[can], place[can]] = False
            self._stuck |= ~can
            for own in self._growing:
                (own.take if i else own.begin)(rows, place)
            if i + 1 < size:
                open_ = self._there
                if used is not None:
                    used.take(rows, place)
                    open_ = open_ & used.may(size - i - 1)
                costs = np.where(open_, self._costs(), np.inf)
        # a part where nothing more can be taken gives up what it has begun
        chosen[self._stuck] = -1
        return chosen

    def rest(self) -> _Ground | None:
        """What can give another block, with fewer places as there are fewer records."""
        left = self._there.sum(axis=1)
        go = (left >= self._make_up.portions.size) & ~self._stuck
        if not go.any():
            return None
        width = int(left[go].max())
        if go.all() and 4 * width > 3 * self._there.shape[1]:
            return self
        rows = np.flatnonzero(go)
        places = np.argsort(~self._there[rows], axis=1, kind="stable")[:, :width]
        return _Ground(
            np.take_along_axis(self._record[rows], places, axis=1),
            np.take_along_axis(self._there[rows], places, axis=1),
            [own.kept(rows, places) for own in self._growing],
            np.take_along_axis(self._far[rows], places, axis=1),
            self._make_up,
            None if self._value is None else np.take_along_axis(self._value[rows], places, axis=1),
        )


class _Used:
    """The sensitive values that a growing block of each part has."""

    def __init__(self, portions: Portions, value: Ints) -> None:
        self._portions = portions
        self._value = value
        distinct, number = np.unique(value, return_inverse=True)
        self._number = number.reshape(value.shape)
        self._most, self._least = portions.most[distinct], portions.least[distinct]
        self._count = np.zeros((len(value), len(distinct)), np.int64)

    def take(self, rows: Ints, places: Ints) -> None:
        """Count one more value of each part."""
        self._count[rows, self._number[rows, places]] += 1

    def may(self, free: int) -> Mask:
        """Which records blocks may take that have so many more to take."""
        may = self._count < self._most
        missing = np.maximum(self._least - self._count, 0)
        short = missing.sum(axis=1) >= free
        may = np.where(short[:, None], missing > 0, may) if short.any() else may
        new = self._portions.different - np.count_nonzero(self._count, axis=1) >= free
        may = np.where(new[:, None], may & (self._count == 0), may)
        return np.asarray(np.take_along_axis(may, self._number, axis=1))
