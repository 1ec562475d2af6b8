"""The records that a clustering has still to put into blocks, and which of them is nearest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.lattice import Lattice
from dbdeid.methods.local_recoding.baselines.growing_block import Growing
from dbdeid.methods.local_recoding.baselines.nearness import Nearness
from dbdeid.methods.local_recoding.search.blocks import Demands

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

TIED = 1e-9  # costs nearer to each other than this are equal
COMPACT = 1 / 8  # of the units without records that are still looked at


class Pool:
    """The records that have no block yet, by unit.

    Attributes:
        next: of each unit the first place among equals of its records that are here.
        counts: the records with each value, of each sensitive attribute.
        people: how many subjects they are of.
    """

    def __init__(self, lattice: Lattice, demands: Demands, places: Ints) -> None:
        self._limited = [
            i
            for i, attribute in enumerate(lattice.attributes)
            if attribute.groups[attribute.most_general].any()
        ]
        units = demands.units
        self._units = units
        self._start = np.cumsum(units.weights) - units.weights
        owner = np.repeat(np.arange(len(units.weights)), units.weights)
        ordered = places[np.lexsort((places, owner))]
        self._places = np.append(ordered, len(places))
        self._taken = np.zeros(len(units.weights), np.int64)
        self.next = self._places[self._start]
        self.counts = [
            np.rint(np.bincount(v.value, units.weights, v.cardinality)).astype(np.int64)
            for v in units.values
        ]
        self.people = units.people
        if units.subjects is not None:
            self._of_subject = np.bincount(units.subjects, units.weights).astype(np.int64)
            self._by_subject = np.argsort(units.subjects, kind="stable")
            self._subjects = units.subjects[self._by_subject]
        self._load(np.arange(len(units.weights)))

    def _load(self, rows: Ints) -> None:
        """Look at some units only, which are all that have records."""
        self._rows = rows
        self._at = np.full(len(self._taken), -1)
        self._at[rows] = np.arange(len(rows))
        self._codes = [codes[rows].astype(np.intp) for codes in self._units.codes]
        self._values = [values.value[rows].astype(np.intp) for values in self._units.values]
        self._closed = np.zeros(len(rows))  # infinite where a unit is not to be taken
        self._gone = 0

    def _alike(self, unit: int) -> Ints:
        """The units of a unit's subject."""
        assert self._units.subjects is not None
        subject = self._units.subjects[unit]
        first, end = np.searchsorted(self._subjects, [subject, subject + 1])
        return self._by_subject[first:end]

    def nearest(self, near: Nearness, block: Growing, closed: list[Mask]) -> int | None:
        """The unit of the record nearest to a block; None: no record may join it."""
        cost = self._closed.copy()
        for prices, codes in zip(near.codes(block), self._codes, strict=False):
            cost += prices[codes]
        for prices, values, full in zip(near.values(block), self._values, closed, strict=True):
            cost += np.where(full, np.inf, prices)[values]
        for attribute in self._limited:
            cost[block.beyond(attribute)[self._codes[attribute]]] = np.inf
        rest = near.rest(block, self._rows)
        if rest is not None:
            cost += rest
        least = cost.min(initial=np.inf)
        if least == np.inf:
            return None
        tied = self._rows[np.flatnonzero(cost <= least + TIED)]
        return int(tied[self.next[tied].argmin()])

    def take(self, unit: int) -> None:
        """Take a record, and let no other of its subject be near until the block is finished."""
        self._move(unit, 1)
        if self._units.subjects is not None:
            at = self._at[self._alike(unit)]
            self._closed[at[at >= 0]] = np.inf

    def finish(self, block: Growing, *, made: bool) -> None:
        """Go on after a block; its records are back where it was not made."""
        if not made:
            for unit in block.units:
                self._move(unit, -1)
        if self._units.subjects is not None:
            mine = np.concatenate([self._alike(unit) for unit in block.units])
            at = self._at[mine]
            free = self._taken[mine] < self._units.weights[mine]
            self._closed[at[(at >= 0) & free]] = 0
        if self._gone > COMPACT * len(self._rows):
            self._load(self._rows[self._closed == 0])

    def leave(self, unit: int) -> None:
        """Take a record that has no block."""
        self._move(unit, 1)

    def _move(self, unit: int, records: int) -> None:
        taken = int(self._taken[unit]) + records
        gone = taken == self._units.weights[unit]
        self._taken[unit] = taken
        self.next[unit] = len(self._places) if gone else self._places[self._start[unit] + taken]
        self._closed[self._at[unit]] = np.inf if gone else 0
        self._gone += int(gone)
        self.people -= records
        if self._units.subjects is not None:
            subject = self._units.subjects[unit]
            before = self._of_subject[subject]
            self._of_subject[subject] -= records
            self.people += records - int(before > 0) + int(before > records)
        for values, counts in zip(self._units.values, self.counts, strict=True):
            counts[values.value[unit]] -= records
