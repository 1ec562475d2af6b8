"""How many policies of random sublattices are new, beside what the sublattices promise."""

from __future__ import annotations

from copy import copy
from math import prod

import numpy as np

from dbdeid.methods.policy.baselines.nonoverlap import Pruned
from dbdeid.methods.policy.baselines.sublattice import promise, random_sublattice
from dbdeid.methods.policy.search.frontier import Frontier
from dbdeid.methods.policy.search.policies import Bits, Cells, Gauge


def under(gauge: Gauge, bottom: Bits) -> Gauge:
    """The same gauge, for the policies more general than one, from the cells of that one."""
    cells, space = gauge.cells, gauge.space
    number = np.zeros(len(cells.records), np.int64)
    for starts, group, own, size in zip(
        space.starts(bottom), space.groups(bottom), cells.codes, space.sizes, strict=True
    ):
        number = number * size + starts[group][own]
    people, records = (
        np.bincount(number, own, prod(space.sizes)).astype(np.int64)
        for own in (cells.people, cells.records)
    )
    there = np.flatnonzero(people)
    codes = np.unravel_index(there, space.sizes)
    found = copy(gauge)
    found.cells = Cells(cells.domains, codes, records[there], people[there])
    return found


def share_of_new(
    gauge: Gauge,
    frontier: Frontier,
    sublattices: int,
    rng: np.random.Generator,
    each: int = 3,
) -> tuple[list[float], list[float]]:
    """What random sublattices promise, and how many of their policies keep it.

    Args:
        gauge: of risk and loss.
        frontier: that is to be improved.
        sublattices: how many are drawn.
        rng: that draws them.
        each: policies that are drawn of each, of any density.

    Returns:
        of each sublattice, what it promises, and the share of its policies that are not dominated.
    """
    space = gauge.space
    promised, kept = [], []
    for _ in range(sublattices):
        drawn = random_sublattice(space, Pruned(space.length), rng)
        assert drawn is not None
        weigh = under(gauge, drawn.bottom)
        promised.append(promise(frontier, weigh(drawn.top), weigh(drawn.bottom)))
        free = np.flatnonzero(drawn.top != drawn.bottom)
        new = 0
        for _ in range(each):
            bits = drawn.top.copy()
            bits[rng.permutation(free)[: rng.integers(len(free) + 1)]] = True
            new += not frontier.dominated(*weigh(bits))
        kept.append(new / each)
    return promised, kept
