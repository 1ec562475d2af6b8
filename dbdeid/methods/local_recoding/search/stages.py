"""How blocks may be made up of sensitive values, and in which order values are dealt to them.

It follows from what the conditions propose (`Condition.portions`). Values so rare that only large
blocks may have them come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.rule import Portions
from dbdeid.methods.local_recoding.search.blocks import Demands

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

CHOICES = 8  # ways to make up blocks that a class chooses from
COARSE = 0.05  # what a block of twice the size is worth less, of the records that it covers


@dataclass(frozen=True)
class Stage:
    """How blocks are made up.

    Attributes:
        portions: ways to choose from.
        rare: of each value, whether a block must have one of these; None: it need not.
        order: of each value its place in the layout, all different.
        free: nothing is demanded of values.
    """

    portions: tuple[Portions, ...]
    rare: Mask | None
    order: Ints
    free: bool = False

    @property
    def least(self) -> int:
        """The size of the smallest blocks."""
        return min(p.size for p in self.portions)

    def worth(self, portions: Portions) -> float:
        """What a record in a block that is made up like this is worth."""
        return 1 - COARSE * log2(portions.size / self.least)


@dataclass(frozen=True)
class Layout:
    """What blocks are made up of.

    Attributes:
        attribute: the sensitive attribute whose values are dealt; None: nothing is demanded of any,
            and all records count as of one value.
        counts: records of each value.
        stages: how blocks are made up, one after the other.
    """

    attribute: int | None
    counts: Ints
    stages: tuple[Stage, ...]

    @staticmethod
    def of(demands: Demands) -> Layout:
        """Of several attributes it is the one that needs the largest blocks, or most values."""
        units, size = demands.units, max(demands.k, 1)
        none = np.zeros(1, np.int64)
        attribute, counts = None, none + units.records
        ways = [Portions(size, 1, none + units.records, none)]
        chosen: tuple[float, ...] = ()
        for i, (own, condition) in enumerate(zip(units.values, demands.conditions, strict=True)):
            possible = _possible(condition.portions(size))
            need = (-1.0, 0.0) if not possible else (1 / possible[0].size, _share(possible[0]))
            if not chosen or need < chosen:
                chosen, attribute, ways = need, i, possible
                counts = np.bincount(own.value, units.weights, own.cardinality).astype(np.int64)
        return Layout(attribute, counts, _stages(ways, counts))


def _share(portions: Portions) -> float:
    """The most of a block that one value may be, about."""
    return float(min(portions.most.max() / portions.size, 1 / portions.different))


def _possible(ways: Sequence[Portions]) -> list[Portions]:
    """Those that some block can be made up like."""
    return [
        p
        for p in ways
        if p.different <= np.count_nonzero(p.most)
        and p.least.sum() <= p.size <= np.minimum(p.most, p.size).sum()
        and bool((p.least <= p.most).all())
    ]


def _stages(ways: Sequence[Portions], counts: Ints) -> tuple[Stage, ...]:
    """How blocks are made up: first those of rare values, from the largest blocks."""
    if not ways:
        return ()
    order = np.argsort(np.argsort(-counts, kind="stable"))
    usual = tuple(ways[:CHOICES])
    stages = []
    possible = np.max([p.most for p in usual], axis=0) > 0
    while not possible[counts > 0].all():
        wider = [p for p in ways if (p.most[~possible & (counts > 0)] > 0).any()]
        if not wider:
            break
        new = ~possible & (wider[0].most > 0)
        stages.append(Stage((wider[0],), new, order - len(order) * new))
        possible |= new
    plain = all(p.different <= 1 and (p.most >= counts.sum()).all() for p in usual)
    return (*stages[::-1], Stage(usual[:1] if plain else usual, None, order, plain))
