"""A block for the records that are left over, found among the blocks of their part.

Each goes where it costs least among the blocks of its part that hold with it; where none does, the
part and the one beside it are looked at together, and so on. So a record is compared with few
blocks, not with all. What finds no block is merged with blocks until that holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dbdeid.methods.local_recoding.free.measures import Measure
from dbdeid.methods.local_recoding.free.parts import Records
from dbdeid.methods.local_recoding.search.blocks import LEFT, Demands

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

PAIRS = 1 << 21  # costs that are worked out at a time


def settled(
    measures: Sequence[Measure],
    demands: Demands,
    records: Records,
    part: Ints,
    start: Ints,
    block: Ints,
    told: Callable[[int], None] | None = None,
) -> Ints:
    """A block for each piece, all of which hold.

    Args:
        measures: of the attributes.
        demands: what every block must hold; those that there are hold.
        records: in pieces.
        part: of each piece; parts near each other have numbers near each other.
        start: of each piece the part that no block may leave; parts do not either.
        block: of each piece, numbered from 0; `LEFT` for those that are left over.
        told: how many records have a block.
    """
    ground = _Ground(measures, demands, records, block)
    shift = 0
    while (waiting := np.flatnonzero(ground.block < 0)).size:
        near = part >> shift
        groups = np.unique(np.stack([start, near]), axis=1, return_inverse=True)[1].ravel()
        ground.place(groups, waiting)
        if told is not None:
            told(int(records.count[ground.block >= 0].sum()))
        if int(near.max()) == 0:
            break
        shift += 1
    for piece in np.flatnonzero(ground.block < 0).tolist():
        if ground.block[piece] < 0:
            ground.begin(np.flatnonzero((start == start[piece]) & (ground.block < 0)), start)
    return ground.block


def merged(
    measures: Sequence[Measure],
    demands: Demands,
    records: Records,
    start: Ints,
    block: Ints,
    classes: Callable[[Ints], Ints],
) -> Ints:
    """The same blocks, those merged that read alike and fail together.

    Args:
        measures: of the attributes.
        demands: what every class must hold.
        records: in pieces.
        start: of each piece the part that no block may leave.
        block: of each piece.
        classes: the class of each piece, by how its block reads.
    """
    while True:
        of = np.unique(classes(block), return_inverse=True)[1].ravel().astype(np.int64)
        held = demands.held(records.row, of, records.count, int(of.max(initial=-1)) + 1)
        if held.all():
            return block
        failing = np.flatnonzero(of == np.flatnonzero(~held)[0])
        ground = _Ground(measures, demands, records, block)
        ground.begin(failing, start)
        block = np.unique(ground.block, return_inverse=True)[1].ravel().astype(np.int64)


class _Ground:
    """The blocks as they change."""

    def __init__(
        self, measures: Sequence[Measure], demands: Demands, records: Records, block: Ints
    ) -> None:
        self._measures = measures
        self._demands = demands
        self._records = records
        self.block = block.copy()

    def place(self, groups: Ints, waiting: Ints) -> None:
        """Give waiting pieces a block of their group, as long as there is one that holds."""
        number = int(groups.max(initial=0)) + 1
        placed = np.flatnonzero(self.block >= 0)
        of_block = np.unique(self.block[placed], return_index=True)[1]
        blocks = np.bincount(groups[placed[of_block]], minlength=number)
        order = np.argsort(groups[waiting], kind="stable")
        pairs = np.cumsum(blocks[groups[waiting[order]]])
        members = np.argsort(groups, kind="stable")
        first = np.searchsorted(groups[members], np.arange(number + 1))
        while len(order):
            some = max(int(np.searchsorted(pairs, PAIRS)), 1)
            chosen, order = waiting[order[:some]], order[some:]
            pairs = pairs[some:] - pairs[some - 1]
            own = np.unique(groups[chosen])
            inside = np.concatenate([members[first[g] : first[g + 1]] for g in own.tolist()])
            inside = inside[(self.block[inside] >= 0) | np.isin(inside, chosen)]
            self._place_some(groups[inside], inside)

    def _place_some(self, groups: Ints, inside: Ints) -> None:
        """The same of few pieces, beside all of the blocks of their groups."""
        own = self.block[inside]
        there = np.flatnonzero(own >= 0)
        numbers, dense = np.unique(own[there], return_inverse=True)
        if not len(there):
            return
        block = np.full(len(inside), LEFT)
        block[there] = dense.ravel()
        pairs = _Pairs(self._measures, self._records.some(inside), groups, block, len(numbers))
        while (found := pairs.best()) is not None:
            pieces, blocks = found
            holds = self._hold(inside, block, pieces, blocks)
            block[pieces[holds]] = blocks[holds]
            pairs.refuse(pieces[~holds], blocks[~holds])
            pairs.changed(block, pieces[holds], blocks[holds])
        placed = block >= 0
        self.block[inside[placed]] = numbers[block[placed]]

    def _hold(self, inside: Ints, block: Ints, pieces: Ints, blocks: Ints) -> Mask:
        """Whether blocks hold with a piece more each; no block twice."""
        place = np.full(int(block.max()) + 1, -1)
        place[blocks] = np.arange(len(blocks))
        members = np.flatnonzero((block >= 0) & (place[block] >= 0))
        rows, counts = self._records.row[inside], self._records.count[inside]
        return self._demands.held(
            np.concatenate([rows[members], rows[pieces]]),
            np.concatenate([place[block[members]], np.arange(len(pieces))]),
            np.concatenate([counts[members], counts[pieces]]),
            len(pieces),
        )

    def begin(self, pieces: Ints, start: Ints) -> None:
        """Make pieces, with the blocks that they are in, one block, and merge it until it holds.

        Raises:
            ValueError: all that may be together does not hold.
        """
        number = int(self.block.max(initial=LEFT)) + 1
        joining = np.isin(self.block, np.unique(self.block[pieces][self.block[pieces] >= 0]))
        joining[pieces] = True
        while True:
            self.block[joining] = number
            own = np.flatnonzero(joining)
            rows, counts = self._records.row[own], self._records.count[own]
            if self._demands.held(rows, np.zeros(len(own), np.int64), counts, 1)[0]:
                return
            others = (start == start[pieces[0]]) & ~joining
            if not others.any():
                raise ValueError("the records do not hold as one block")
            joining |= self._beside(own, np.flatnonzero(others), number)

    def _beside(self, own: Ints, others: Ints, number: int) -> Mask:
        """The pieces of the block that is nearest, or what is left over."""
        there = others[self.block[others] >= 0]
        if not len(there):
            found = np.zeros(len(self.block), np.bool_)
            found[others] = True
            return found
        cost = np.zeros(len(there))
        one = np.zeros(len(own), np.int64)
        for measure, codes in zip(self._measures, self._records.codes, strict=True):
            cost += measure.cells(codes[own], one, 1).joined(codes[there], np.zeros_like(there))
        blocks, place = np.unique(self.block[there], return_inverse=True)
        mean = np.bincount(place.ravel(), cost) / np.bincount(place.ravel())
        return np.asarray(self.block == blocks[mean.argmin()])


class _Pairs:
    """What each waiting piece would cost in each block of its group."""

    def __init__(
        self,
        measures: Sequence[Measure],
        records: Records,
        groups: Ints,
        block: Ints,
        number: int,
    ) -> None:
        self._measures, self._records = measures, records
        waiting, placed = np.flatnonzero(block < 0), np.flatnonzero(block >= 0)
        of = np.zeros(number, np.int64)
        of[block[placed]] = groups[placed]
        order = np.argsort(of, kind="stable")
        first = np.searchsorted(of[order], groups[waiting], "left")
        length = np.searchsorted(of[order], groups[waiting], "right") - first
        waiting, first, length = (own[length > 0] for own in (waiting, first, length))
        self._pieces = waiting
        self._start = np.cumsum(length) - length
        self._open = np.ones(len(waiting), np.bool_)
        which = np.repeat(np.arange(len(waiting)), length)
        self._which = which
        self._block = order[first[which] + np.arange(len(which)) - self._start[which]]
        self._cost = np.zeros(len(which))
        # the pairs of each block, to be found when it changes
        self._by_block = np.argsort(self._block, kind="stable")
        self._first = np.searchsorted(self._block[self._by_block], np.arange(number + 1))
        self._size = np.bincount(block[placed], records.count[placed], number)
        self._update(np.arange(len(which)), placed, block[placed], number)

    def _update(self, pairs: Ints, pieces: Ints, block: Ints, number: int) -> None:
        """The costs of some pairs, whose blocks hold some pieces."""
        after, loss = np.zeros(len(pairs)), np.zeros(number)
        of, count = self._pieces[self._which[pairs]], self._records.count
        numbers, dense = np.unique(block, return_inverse=True)
        place = np.zeros(int(numbers.max(initial=0)) + 1, np.int64)
        place[numbers] = np.arange(len(numbers))
        own = self._block[pairs]
        for measure, codes in zip(self._measures, self._records.codes, strict=True):
            cells = measure.cells(codes[pieces], dense.ravel().astype(np.int64), len(numbers))
            loss[numbers] += cells.losses()
            after += cells.joined(codes[of], place[own])
        size = self._size[own]
        refused = np.isinf(self._cost[pairs])
        self._cost[pairs] = (size + count[of]) * after - size * loss[own]
        self._cost[pairs[refused]] = np.inf

    def best(self) -> tuple[Ints, Ints] | None:
        """Pieces and the blocks where they cost least, no block twice; None: there are none left.

        Of several pieces that want a block, the one that costs least has it.
        """
        if not len(self._pieces) or not self._open.any():
            return None
        least = np.minimum.reduceat(self._cost, self._start)
        can = self._open & np.isfinite(least)
        if not can.any():
            return None
        at = np.flatnonzero(can[self._which] & (self._cost == least[self._which]))
        at = at[np.unique(self._which[at], return_index=True)[1]]
        at = at[np.lexsort((self._cost[at], self._block[at]))]
        at = at[np.flatnonzero(np.diff(self._block[at], prepend=LEFT))]
        self._at = at
        return self._pieces[self._which[at]], self._block[at]

    def refuse(self, pieces: Ints, blocks: Ints) -> None:
        """These do not hold together."""
        fails = np.isin(self._pieces[self._which[self._at]], pieces)
        self._cost[self._at[fails]] = np.inf

    def changed(self, block: Ints, pieces: Ints, blocks: Ints) -> None:
        """Pieces have gone to blocks, whose costs are others now."""
        if not len(pieces):
            return
        self._open[np.searchsorted(self._pieces, pieces)] = False
        self._size[blocks] += self._records.count[pieces]
        members = np.flatnonzero(np.isin(block, blocks))
        pairs = np.concatenate(
            [self._by_block[self._first[b] : self._first[b + 1]] for b in blocks.tolist()]
        )
        pairs = pairs[self._open[self._which[pairs]]]
        self._update(pairs, members, block[members], len(self._size))
