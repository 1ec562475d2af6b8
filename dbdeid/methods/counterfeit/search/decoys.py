"""Padding what found no class, where enough real classes look the same."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import ceil

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.lattice import Node
from dbdeid.methods.counterfeit.search.borrowing import Around, Work
from dbdeid.methods.counterfeit.search.recoding import Facts, Regions

Ints = NDArray[np.int64]

DECOYS = 15  # records of decoys per counterfeit of a signature, where there are so many,
LEAST = 60  # and at least so many: the quotas of few records are too coarse
NEW = 2  # counterfeits that one more padded signature is worth


@dataclass(frozen=True, order=True)
class Option:
    """To pad the class of a row under a node; better ones are smaller.

    Attributes:
        cost: counterfeits per record that finds its class.
        few: minus how many decoys there may be.
        at: the number of the node.
        row: the row.
    """

    cost: float
    few: int
    at: int
    row: int


class Padding:
    """Pads classes, and releases real ones as if they were.

    Args:
        work: with classes for all records that can have one.
        size: that classes are padded to.
    """

    def __init__(self, work: Work, size: int) -> None:
        self._work = work
        self._size = size
        ground = work.ground
        self._live = np.flatnonzero(work.sizes)
        self._first = np.array(work.first, np.int64)[self._live]
        levels = np.array([work.levels[c] for c in self._live], np.int64)
        levels = levels.reshape(-1, ground.codes.shape[1])
        self._costs = ground.costs(levels, self._first)
        self._sizes = np.array(work.sizes, np.int64)[self._live]
        self._released = Regions(levels, ground.codes[self._first])
        clean = np.ones(len(self._live), np.bool_)  # so that decoys stand whatever is padded
        self._facts = Facts(ground.cells, self._released, self._sizes, work.k, clean)
        self._possible: dict[int, Ints] = {}  # node -> decoys
        self._largest: dict[int, dict[Node, int]] = {}  # row -> signature -> node
        self._fits: dict[tuple[int, Node], bool] = {}
        self._found: dict[tuple[int, Node], list[int]] = {}  # node and signature -> fitting decoys
        self._seen: dict[tuple[int, Node], int] = {}  # the same -> decoys that were looked at
        self._used: set[int] = set()  # decoys
        self._padded: set[Node] = set()  # signatures
        self._choices: dict[Node, list[tuple[int, int]]] = {}  # signature -> node and row
        self._options: list[Option] = []

    def pad(self) -> bool:
        """Give all records a class; False if that cannot be.

        The cheapest options come first; their costs only rise, so that they are looked at again
        when it is their turn. One without enough decoys waits until no other has them.
        """
        rows = self._work.open_rows()
        for row in rows:
            for levels, at in self._around(row).items():
                self._choices.setdefault(levels, []).append((at, row))
        options = self._options
        for levels in self._choices:
            self._offer(levels)
        poor: list[Option] = []
        while self._work.any_open():
            if options:
                option = heapq.heappop(options)
                again = self._at(option.at, option.row)
                if again and again > option:
                    heapq.heappush(options, again)
                elif again:
                    wanted, decoys = self._supply(again)
                    if len(decoys) < wanted:
                        poor.append(again)
                    else:
                        self._take(again, decoys)
                continue
            poor = [again for o in poor if (again := self._at(o.at, o.row))]
            if not poor:
                return False
            supply = [self._supply(option) for option in poor]
            best = min(range(len(poor)), key=lambda i: (-len(supply[i][1]) / supply[i][0], poor[i]))
            self._take(poor.pop(best), supply[best][1])
        return True

    def _offer(self, levels: Node) -> None:
        """Put the options of a signature among those to be looked at."""
        for at, row in self._choices[levels]:
            if option := self._at(at, row):
                heapq.heappush(self._options, option)

    def _at(self, at: int, row: int) -> Option | None:
        """The option of a row under a node, unless it has a class or the region is one's."""
        work = self._work
        levels = work.ground.levels(at, row)
        if not work.is_open(row) or len(work.existing(levels, row)):
            return None
        here = work.around(at, row)
        if len(here.free) >= work.k:
            return None  # enough, but they do not hold the conditions
        cost = self._counterfeits(here) + (levels not in self._padded) * NEW
        return Option(cost / len(here.free), -len(self._decoys(at)), at, row)

    def _counterfeits(self, here: Around) -> int:
        return self._size - min(self._work.within_reach(here), self._work.k - 1)

    def _take(self, option: Option, decoys: list[int]) -> None:
        """Pad the class of an option, unless one inside would still have surplus."""
        work = self._work
        here = work.around(option.at, option.row)
        lent = work.borrowed(here, work.k - 1 - len(here.free))
        given = np.array([np.isin(lent, work.members(int(c))).sum() for c in here.ids], np.int64)
        unused = np.array([int(c) not in work.locked for c in here.ids], np.bool_)
        if (unused & (here.inside == here.sizes) & (here.sizes - given > work.k)).any():
            return
        levels = work.ground.levels(option.at, option.row)
        padded = work.class_of(levels, option.row)
        work.move(np.append(here.free, lent), padded)
        work.locked.add(padded)
        if levels not in self._padded:
            self._padded.add(levels)
            self._offer(levels)  # they are cheaper now
        for decoy in decoys:
            self._release(decoy, option.at, levels)
        work.tell()

    # -- decoys

    def _supply(self, option: Option) -> tuple[int, list[int]]:
        """How many decoys an option should have, and those there are."""
        work = self._work
        levels = work.ground.levels(option.at, option.row)
        records = DECOYS * self._counterfeits(work.around(option.at, option.row))
        if levels not in self._padded:
            records = max(records, LEAST)
        wanted = ceil(records / self._size)
        unused = (d for d in self._fitting(option.at, levels) if d not in self._used)
        return wanted, list(islice(unused, wanted))

    def _fitting(self, at: int, levels: Node) -> Iterator[int]:
        """The decoys of a node of which all facts are true with these levels, in order.

        What was found out is kept, so that each is looked at once.
        """
        found = self._found.setdefault((at, levels), [])
        decoys = self._decoys(at)
        yield from found
        for i in range(self._seen.get((at, levels), 0), len(decoys)):
            self._seen[at, levels] = i + 1
            decoy = int(decoys[i])
            if self._fit(decoy, levels):
                found.append(decoy)
                yield decoy

    def _decoys(self, at: int) -> Ints:
        """Classes that lie alone in theirs of a node, the cheapest to release there first.

        They have the size of padded ones, or less and need to borrow.
        """
        if at not in self._possible:
            ground = self._work.ground
            inside = ground.cells.inside(self._released, ground.nodes[at])
            key = ground.keys[at][self._first]
            alone = inside & (np.bincount(key[inside], minlength=len(ground.weights))[key] == 1)
            found = np.flatnonzero(alone & (self._sizes <= self._size))
            rise = ground.cost(at)[self._first[found]] - self._costs[found]
            self._possible[at] = found[np.lexsort((rise, -self._sizes[found]))]
        return self._possible[at]

    def _fit(self, decoy: int, levels: Node) -> bool:
        """Whether all facts are true of the region of a decoy with these levels."""
        if (decoy, levels) not in self._fits:
            row = int(self._first[decoy])
            codes = self._work.ground.codes[row]
            self._fits[decoy, levels] = levels in self._around(row) and self._facts.open(
                np.array(levels, np.int64), codes
            )
        return self._fits[decoy, levels]

    def _release(self, decoy: int, at: int, levels: Node) -> None:
        """Release a decoy with these levels, filled up to the size of padded classes if need be."""
        work, class_, row = self._work, int(self._live[decoy]), int(self._first[decoy])
        self._used.add(decoy)
        records = work.members(class_)
        if work.levels[class_] != levels and len(work.existing(levels, row)):
            return
        work.locked.add(class_)
        lent = work.borrowed(work.around(at, row), self._size - len(records))
        whole = np.append(records, lent)
        if len(whole) != self._size or (len(lent) and not work.ground.holds(whole)):
            work.locked.discard(class_)
            return
        released = work.class_of(levels, row)
        work.move(lent if released == class_ else whole, released)
        work.locked.add(released)

    def _around(self, row: int) -> dict[Node, int]:
        """The signatures of the regions around a row that lie in no larger one; a node of each."""
        if row not in self._largest:
            ground = self._work.ground
            levels = ground.top_levels(row)
            above = np.asarray((levels[None] >= levels[:, None]).all(axis=2))
            above &= (levels[None] != levels[:, None]).any(axis=2)
            self._largest[row] = {
                tuple(levels[i].tolist()): ground.maximal[i]
                for i in np.flatnonzero(~above.any(axis=1))[::-1]
            }
        return self._largest[row]
