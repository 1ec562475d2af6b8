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
        of = classes(block)
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
        refused = np.zeros(0, np.int64)
        number = int(self.block.max(initial=LEFT)) + 1
        while len(waiting) and number:
            choice, cost = self._nearest(groups, waiting, number, refused)
            can = np.flatnonzero(choice >= 0)
            if not len(can):
                return
            # of several pieces that want a block the one that costs least goes first
            order = can[np.lexsort((cost[can], choice[can]))]
            first = order[np.flatnonzero(np.diff(choice[order], prepend=LEFT))]
            holds = self._hold(waiting[first], choice[first])
            self.block[waiting[first[holds]]] = choice[first[holds]]
            fails = first[~holds]
            refused = np.union1d(refused, waiting[fails] * number + choice[fails])
            waiting = np.delete(waiting, first[holds])

    def _nearest(
        self, groups: Ints, waiting: Ints, number: int, refused: Ints
    ) -> tuple[Ints, Floats]:
        """The block of its group where each piece costs least, but for what was refused."""
        placed = np.flatnonzero(self.block >= 0)
        of = np.full(number, -1)
        of[self.block[placed]] = groups[placed]
        own = np.bincount(self.block[placed], self._records.count[placed], number)
        cells = [
            m.cells(codes[placed], self.block[placed], number)
            for m, codes in zip(self._measures, self._records.codes, strict=True)
        ]
        loss = np.sum([cell.losses() for cell in cells], axis=0)
        order = np.argsort(of, kind="stable")
        first = np.searchsorted(of[order], groups[waiting], "left")
        length = np.searchsorted(of[order], groups[waiting], "right") - first
        choice, best = np.full(len(waiting), LEFT), np.full(len(waiting), np.inf)
        ends = np.cumsum(length)
        step = 0
        while step < len(waiting):
            to = max(int(np.searchsorted(ends, (ends[step - 1] if step else 0) + PAIRS)), step + 1)
            some = np.arange(step, min(to, len(waiting)))
            which = np.repeat(some, length[some])
            ahead = np.cumsum(length[some]) - length[some]
            inside = np.arange(len(which)) - np.repeat(ahead, length[some])
            block = order[first[which] + inside]
            pieces = waiting[which]
            after = np.zeros(len(which))
            for cell, codes in zip(cells, self._records.codes, strict=True):
                after += cell.joined(codes[pieces], block)
            cost = (own[block] + self._records.count[pieces]) * after - own[block] * loss[block]
            cost[np.isin(pieces * number + block, refused)] = np.inf
            least = np.lexsort((block, cost, which))
            least = least[np.flatnonzero(np.diff(which[least], prepend=-1))]
            found = np.isfinite(cost[least])
            choice[which[least[found]]] = block[least[found]]
            best[which[least[found]]] = cost[least[found]]
            step = int(some[-1]) + 1
        return choice, best

    def _hold(self, pieces: Ints, blocks: Ints) -> Mask:
        """Whether blocks hold with a piece more each; no block twice."""
        place = np.full(int(self.block.max()) + 1, -1)
        place[blocks] = np.arange(len(blocks))
        inside = np.flatnonzero((self.block >= 0) & (place[self.block] >= 0))
        records = self._records
        return self._demands.held(
            np.concatenate([records.row[inside], records.row[pieces]]),
            np.concatenate([place[self.block[inside]], np.arange(len(pieces))]),
            np.concatenate([records.count[inside], records.count[pieces]]),
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
