"""Cutting records in parts whose values lie near each other.

A part is cut in two along the attribute on which two of its records cost most together, between
two values, as evenly as that goes. Where values of sets are cut, the most frequent come first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.methods.local_recoding.free.measures import NEGLIGIBLE, Measure
from dbdeid.methods.local_recoding.search.blocks import Demands

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

TRIED = 8  # cuts of one attribute that are tried where parts must hold, those nearest to the middle


@dataclass(frozen=True)
class Records:
    """Records that are divided, in pieces of units.

    Attributes:
        row: the unit of each piece.
        count: how many records it has: one, or all those of a subject that are alike.
        codes: of each attribute, by piece.
    """

    row: Ints
    count: Ints
    codes: Sequence[Ints]

    def some(self, which: Ints | Mask) -> Records:
        """Those of some places."""
        return Records(self.row[which], self.count[which], [own[which] for own in self.codes])

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True)
class Cut:
    """How parts are cut.

    Attributes:
        measures: of the attributes.
        demands: what each part must hold; None: parts are only kept large.
        least: the records of a part, at least.
        most: parts of so many are not cut.
        relaxed: where no cut between two values goes, equal ones may be parted.
    """

    measures: Sequence[Measure]
    demands: Demands | None
    least: int
    most: int
    relaxed: bool

    def __call__(
        self, records: Records, part: Ints, settled: Callable[[int], None] | None = None
    ) -> Ints:
        """The part of each piece, numbered so that parts near each other are.

        Args:
            records: that are cut.
            part: what they are in to begin with, numbered densely from 0.
            settled: told how many records are in parts that are not cut any more.
        """
        final = np.zeros(int(part.max(initial=-1)) + 1, np.bool_)
        while True:
            sizes = np.bincount(part, records.count, len(final)).astype(np.int64)
            final |= sizes <= max(self.most, 2 * self.least - 1)
            if settled is not None:
                settled(int(sizes[final].sum()))
            if final.all():
                return part
            inside = np.flatnonzero(~final[part])
            number = np.cumsum(~final) - 1
            side, cut = self._cut(records.some(inside), number[part[inside]], sizes[~final])
            final[np.flatnonzero(~final)[~cut]] = True
            far = np.zeros(len(part), np.int64)
            far[inside] = side
            keys, part = np.unique(2 * part + far, return_inverse=True)
            part, final = part.ravel().astype(np.int64), final[keys // 2]

    def _cut(self, records: Records, part: Ints, sizes: Ints) -> tuple[Mask, Mask]:
        """Which pieces are on the far side of a cut, and which parts are cut."""
        pieces = np.bincount(part, minlength=len(sizes))
        pairs = zip(self.measures, records.codes, strict=True)
        spread = np.stack([m.spread(own, part, pieces) for m, own in pairs])
        spread[spread < NEGLIGIBLE] = 0
        order = np.argsort(-spread, axis=0, kind="stable")
        far, cut = np.zeros(len(part), np.bool_), np.zeros(len(sizes), np.bool_)
        for parted in (False, True)[: 1 + self.relaxed]:
            for rank in order:
                for i, measure in enumerate(self.measures):
                    chosen = ~cut & (rank == i) & (spread[i] > 0)
                    if not chosen.any():
                        continue
                    inside = np.flatnonzero(chosen[part])
                    key = measure.order(records.codes[i][inside], part[inside])
                    side, done = self._along(
                        records.some(inside), part[inside], key, sizes, parted=parted
                    )
                    far[inside] = side
                    cut |= done
        return far, cut

    def _along(
        self, records: Records, part: Ints, key: NDArray[np.float64], sizes: Ints, *, parted: bool
    ) -> tuple[Mask, Mask]:
        """The same of one attribute; `parted`: between equal values, too."""
        order = np.lexsort((records.row, key, part))
        of, own = part[order], key[order]
        count = records.count[order]
        before = np.cumsum(count) - count
        before -= before[np.searchsorted(of, of)]
        last = np.zeros(len(of), np.bool_)
        last[1:] = (of[1:] == of[:-1]) & (parted | (own[1:] != own[:-1]))
        last &= (before >= self.least) & (sizes[of] - before >= self.least)
        at = np.flatnonzero(last)
        at = at[np.lexsort((np.abs(2 * before[at] - sizes[of[at]]), of[at]))]
        first = np.searchsorted(of[at], of[at])
        rank = np.arange(len(at)) - first
        side, cut = np.zeros(len(of), np.bool_), np.zeros(len(sizes), np.bool_)
        for tried in range(min(int(rank.max(initial=-1)) + 1, TRIED if self.demands else 1)):
            now = at[rank == tried]
            now = now[~cut[of[now]]]
            if not len(now):
                break
            from_ = np.full(len(sizes), -1)
            from_[of[now]] = now
            waiting = np.flatnonzero(from_[of] >= 0)
            beyond = waiting >= from_[of[waiting]]
            held = self._held(
                records.row[order[waiting]], count[waiting], of[waiting], beyond, len(sizes)
            )
            done = (from_ >= 0) & held
            side[waiting] = np.where(done[of[waiting]], beyond, side[waiting])
            cut |= done
        found = np.zeros(len(of), np.bool_)
        found[order] = side
        return found, cut

    def _held(self, row: Ints, count: Ints, part: Ints, beyond: Mask, number: int) -> Mask:
        """Of which parts both sides hold."""
        if self.demands is None:
            return np.ones(number, np.bool_)
        keys, block = np.unique(2 * part + beyond, return_inverse=True)
        held = self.demands.held(row, block.ravel().astype(np.int64), count, len(keys))
        return np.asarray(np.bincount(keys[held] // 2, minlength=number) == 2)
