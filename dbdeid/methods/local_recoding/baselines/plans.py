"""What the blocks of a clustering may be like, so that everything demanded most likely holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.rule import Portions
from dbdeid.methods.local_recoding.baselines.growing_block import Growing
from dbdeid.methods.local_recoding.baselines.pool import Pool
from dbdeid.methods.local_recoding.search.blocks import Demands

Mask = NDArray[np.bool_]

GROWN = 4  # times its least size that a block may grow to
PLANS = 256  # of blocks, at most
REMEMBERED = 10_000  # histograms of blocks that were judged


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """A size of blocks, and the portions of each sensitive attribute."""

    size: int
    portions: tuple[Portions, ...]

    def filled(self, pool: Pool) -> bool:
        """Whether the records of a pool make up such a block."""
        room = (
            (portions.different, np.minimum(counts, portions.most))
            for counts, portions in zip(pool.counts, self.portions, strict=True)
        )
        return pool.people >= self.size and all(
            own.sum() >= self.size and np.count_nonzero(own) >= different for different, own in room
        )

    def closed(self, block: Growing) -> list[Mask]:
        """The values of each attribute of which a block takes no more."""
        found = []
        for counts, portions in zip(block.values, self.portions, strict=True):
            missing = portions.different - np.count_nonzero(counts)
            only_new = missing >= self.size - len(block.units)
            found.append((counts >= portions.most) | (only_new & (counts > 0)))
        return found


class BlockPlans:
    """How large blocks are to be, and how much of each value may be in them."""

    def __init__(self, demands: Demands) -> None:
        self._demands = demands
        self._plans = _plans(demands)
        self._first = 0
        self._held: dict[bytes, bool] = {}

    def possible(self, pool: Pool) -> bool:
        """Whether the records of the pool can fill some plan; what they cannot is given up."""
        while self._first < len(self._plans):
            if self._plans[self._first].filled(pool):
                return True
            self._first += 1
        return False

    def __iter__(self) -> Iterator[BlockPlan]:
        """What is tried for a block, in ascending order of size."""
        most = GROWN * self._plans[self._first].size
        for plan in self._plans[self._first :]:
            if plan.size <= most:
                yield plan

    def holds(self, block: Growing) -> bool:
        """Whether a block holds; its subjects are all different."""
        if len(block.units) < self._demands.k:
            return False
        seen = b"".join(counts.tobytes() for counts in block.values)
        if seen not in self._held:
            if len(self._held) >= REMEMBERED:
                self._held.clear()
            row = np.array(block.units)
            held = self._demands.held(row, np.zeros_like(row), np.ones_like(row), 1)
            self._held[seen] = bool(held[0])
        return self._held[seen]


def _plans(demands: Demands) -> list[BlockPlan]:
    """What blocks may be like, the smallest first."""
    plans = [BlockPlan(max(demands.k, 1), ())]
    for condition in demands.conditions:
        plans = [
            BlockPlan(portions.size, (*plan.portions, portions))
            for plan in plans
            for portions in condition.portions(plan.size)
        ]
        plans = sorted(plans, key=lambda plan: plan.size)[:PLANS]
    return plans
