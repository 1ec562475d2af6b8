"""Transformations in ascending order of what they cost, as many as there is time for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import islice
from math import prod

from dbdeid.lattice.lattice import Node
from dbdeid.methods.local_recoding.search.taxonomy import Cost, Taxonomy

NODES = 1 << 16  # transformations that are gone through; levels are left out until there are fewer
WORK = 1 << 31  # units that these are applied to, about: beyond, some are passed by
RUN = 16  # transformations of a run


def affordable(
    taxonomy: Taxonomy, pending: Callable[[], int], objective: Cost = "balanced"
) -> Iterator[list[Node]]:
    """Transformations by what they cost, each once, and the most general one last.

    Where there are too many for the units that are left, some are passed by, evenly. They come in
    runs: no run depends on what becomes of the units while it is gone through.

    Args:
        taxonomy: of the hierarchies.
        pending: how many units the next run is applied to; never more than the one before.
        objective: what they cost.
    """
    costs = _costs(taxonomy, objective)
    nodes = _ascending(costs)
    left, work = prod(len(own) for own in costs), WORK
    while left > 1:
        units = pending()
        step = min(max(1, left * units // max(work, 1)), left - 1)
        # if there is time for all that are left there will be
        sure = min(RUN, left - 1) if left * units <= work else 1
        run = [*islice(nodes, step - 1, step - 1 + sure)]
        left -= step - 1 + sure
        work -= units * sure
        yield [tuple(level for level, _ in node) for node in run]
    yield [taxonomy.lattice.top]


def _costs(taxonomy: Taxonomy, objective: Cost) -> list[list[tuple[int, float]]]:
    """Levels of each attribute and what they cost on average, few enough for their combinations.

    What is left out is the level that costs least more than the one before.
    """
    lattice = taxonomy.lattice
    found = [
        [(level, float(own[level])) for level in range(low, high + 1)]
        for own, low, high in zip(
            taxonomy.mean_cost(objective), lattice.bottom, lattice.top, strict=True
        )
    ]
    while prod(len(own) for own in found) > NODES:
        steps = [
            (own[j][1] - own[j - 1][1], i, j)
            for i, own in enumerate(found)
            for j in range(1, len(own))
        ]
        _, i, j = min(steps)
        # the most general level stays
        del found[i][j if j < len(found[i]) - 1 else j - 1]
    return found


def _ascending(
    costs: Sequence[Sequence[tuple[int, float]]],
) -> Iterator[tuple[tuple[int, float], ...]]:
    """Combinations of one of each, in ascending order of their sums."""
    width = len(costs)
    queue = [(sum(own[0][1] for own in costs), (0,) * width)]
    while queue:
        cost, steps = heappop(queue)
        yield tuple(own[step] for own, step in zip(costs, steps, strict=True))
        # each is reached only from the one that is a step lower in the last that has any
        last = max((i for i in range(width) if steps[i]), default=0)
        for i in range(last, width):
            if steps[i] + 1 < len(costs[i]):
                more = costs[i][steps[i] + 1][1] - costs[i][steps[i]][1]
                heappush(queue, (cost + more, (*steps[:i], steps[i] + 1, *steps[i + 1 :])))
